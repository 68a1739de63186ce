// Lets a module import a stylesheet for its effect; Vite bundles it.

declare module '*.css'
