// The library's door for backups: the file `log.db` of a server that may be running.

export { checkLogFile, copyLogFile, isLocked, LogFileError } from './log/sqlite-file.ts'
