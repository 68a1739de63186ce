// The options of the log in Redis.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type RedisOptions, redis } from './index.ts'

test('options that do not fit are named, with their value and without the password', () => {
  const url = 'rediss://:secret@redis1.example:6380/2'
  for (const [options, sentence] of [
    [
      { url: 'redis1.example' },
      'redis: url is "redis1.example"; it must be like redis://redis1.example:6379.',
    ],
    [{ url: [] }, /url is undefined; it must be/],
    [{ url: [url, 'http://:secret@redis2'] }, /url is "http:\/\/:…@redis2"; it must be/],
    [{ url, prefix: '{a}' }, /prefix is "\{a\}"; it must be up to 64 letters/],
    [{ url, prefx: 'a' }, /redis has no prefx; did you mean prefix\?/],
  ] as const)
    assert.throws(() => redis(options as RedisOptions), { message: sentence })
  assert.equal(
    redis({ url: [url, 'redis://redis2.example'] }).place,
    'Redis at redis1.example:6380, redis2.example',
  )
})
