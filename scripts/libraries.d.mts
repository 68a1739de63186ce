export const libraries: Readonly<Record<string, string>>
