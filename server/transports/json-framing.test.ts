import assert from 'node:assert/strict'
import { test } from 'node:test'
import { editOf } from '../hub/testing.ts'
import { jsonFraming } from './json-framing.ts'

test('a frame is one JSON text, and whatever it says comes back', () => {
  for (const html of ['', '"\\', '\n\r\u2028\u2029\0', '💨', '\ud83d', '\uFEFFx', '</script>']) {
    const { frame, bytes } = editOf(3, html)
    assert.deepEqual(JSON.parse(String(bytes(jsonFraming))), frame)
  }
})
