// Bundles the page: `vite build web` makes web/dist, which the server hands out.

import { defineConfig } from 'vite'

export default defineConfig({
  root: import.meta.dirname,
  base: '/',
  publicDir: false,
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    sourcemap: true,
    target: ['chrome111', 'edge111', 'firefox114', 'safari16.4'],
    // Nothing becomes a data: URL, so that the Content-Security-Policy need not allow for it.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // React's development build alone is above the default.
    chunkSizeWarningLimit: 1000,
  },
})
