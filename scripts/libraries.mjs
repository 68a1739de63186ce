/** The folders of the packages that applications import. */
export const libraries = {
  client: 'client',
  react: 'client/react',
  server: 'server',
  postgres: 'server/postgres',
  redis: 'server/redis',
}
