// Prints the help text, or with the word `table` the README's table: `node server/config/print.ts [table]`.

import { configHelp, configTable } from './help.ts'

process.stdout.write(process.argv[2] === 'table' ? configTable() : configHelp())
