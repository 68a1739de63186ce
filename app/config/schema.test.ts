// Help and the table in docs/settings.md name every setting, and names follow from each other.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { configHelp, configKeys, configTable } from './schema.ts'

test('keys, flags and variables follow from one another', () => {
  const names = configKeys.map(({ key, flag, variable }) => [key, flag, variable])
  assert.deepEqual(names[0], ['transport', '--transport', 'CROSSWIND_TRANSPORT'])
  assert.deepEqual(names[4], ['http1Port', '--http1-port', 'CROSSWIND_HTTP1_PORT'])
  const nested = names.find(([key]) => key === 'sensor.baudRate')
  assert.deepEqual(nested, ['sensor.baudRate', '--sensor-baud-rate', 'CROSSWIND_SENSOR_BAUD_RATE'])
  assert.equal(new Set(configKeys.map(({ flag }) => flag)).size, configKeys.length)
})

const fits = (help: string) =>
  assert.equal(
    help.split('\n').find((line) => line.length > 100 || line !== line.trimEnd()),
    undefined,
  )

test('the whole help names every key with flag, variable, default and meaning, in 100 columns', () => {
  const help = configHelp(true)
  for (const { key, flag, variable, initial, meaning } of configKeys) {
    const value = typeof initial === 'string' ? initial : JSON.stringify(initial)
    for (const part of [`  ${key} = ${value} `, `    ${flag} `, `    ${variable}`, meaning.slice(0, 30)]) {
      assert.ok(`${help} `.replaceAll('\n', ' \n').includes(part), part)
    }
  }
  fits(help)
})

test('the help fits on a screen: ten flags, and how to see the others', () => {
  const help = configHelp()
  assert.equal(help.match(/^ {2}--/gm)?.length, 10)
  assert.ok(help.includes('  --port 8443 '))
  assert.ok(help.includes('npm start -- --help all '))
  assert.ok(help.split('\n').length <= 50)
  fits(help)
})

test('the table has a row for every key, and no broken cell', () => {
  const rows = configTable().trim().split('\n').slice(2)
  assert.equal(rows.length, configKeys.length)
  for (const row of rows) assert.equal(row.split('|').length, 6, row)
})

test('docs/settings.md contains the current table', async () => {
  const page = await readFile(join(import.meta.dirname, '../../docs/settings.md'), 'utf8')
  assert.ok(
    page.includes(configTable().trim()),
    'paste it again: node_modules/.bin/node app/config/schema.ts',
  )
})
