// An SQS server for tests and the lab, and other users of its queues.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { freePort } from './open-port.ts'

/** As the server's settings have them. */
interface QueueSettings {
  readonly endpoint: string | null
  readonly region: string
  readonly queue: string
  readonly visibilitySeconds: number
  readonly maxReceives: number
}

export interface TestSqs {
  /** Settings for an empty queue of this name. */
  readonly settings: (queue: string) => QueueSettings
  /** Without a clean shutdown; its queues are lost. */
  readonly kill: () => Promise<void>
  /** Call after `kill`; keeps the port. */
  readonly restart: () => Promise<void>
  readonly stop: () => Promise<void>
}

const startWithinMs = 30_000

/**
 * `scripts/preparation.mjs` installs ElasticMQ. These options start it sooner than Java's defaults,
 * with less memory.
 */
const root = join(import.meta.dirname, '..')
const elasticMqFolder = join(root, 'node_modules/.elasticmq')
const elasticMq = [
  'java',
  '-XX:+UseSerialGC',
  '-XX:TieredStopAtLevel=1',
  '-Xmx512m',
  '-cp',
  join(elasticMqFolder, '*'),
  join(root, 'scripts/elasticmq/Start.java'),
]

/** The port is appended. */
const [program = '', ...args] = process.env.CROSSWIND_SQS_PROGRAM?.split(' ') ?? elasticMq

/** A local server accepts any. */
const credentials = { AWS_ACCESS_KEY_ID: 'local', AWS_SECRET_ACCESS_KEY: 'local' }

/** Returns `ElasticMQ 1.6.15`, or the program used instead. Throws if it is not installed. */
export function sqsServerVersion(): string {
  if (process.env.CROSSWIND_SQS_PROGRAM) return process.env.CROSSWIND_SQS_PROGRAM
  const names = readdirSync(elasticMqFolder).map((name) => /^elasticmq-rest-sqs_.*-([\d.]+)\.jar$/.exec(name))
  return `ElasticMQ ${names.find((found) => found !== null)?.[1] ?? 'of an unknown version'}`
}

/**
 * Rejects if the program is not installed or does not start. Gives this process and its children
 * credentials.
 */
export async function startSqsServer(): Promise<TestSqs> {
  Object.assign(process.env, credentials)
  const port = await freePort()
  const endpoint = `http://127.0.0.1:${port}`
  let child: ChildProcess | null = null

  async function start(): Promise<void> {
    child = spawn(program, [...args, String(port)], { stdio: 'ignore' })
    const failed = once(child, 'error').then(([cause]) => {
      throw new Error(`${program} does not run here: npm test installs ElasticMQ and says what it needs.`, {
        cause,
      })
    })
    await Promise.race([listening(endpoint), failed])
  }

  async function kill(): Promise<void> {
    if (!child?.pid) return
    const exited = child.exitCode === null && child.signalCode === null ? once(child, 'exit') : null
    child.kill('SIGKILL')
    await exited
  }

  try {
    await start()
  } catch (error) {
    await kill()
    throw error
  }
  const settings = (queue: string) => ({
    endpoint,
    region: 'us-east-1',
    queue,
    visibilitySeconds: 1,
    maxReceives: 5,
  })
  return { settings, kill, restart: start, stop: kill }
}

async function listening(endpoint: string): Promise<void> {
  const end = performance.now() + startWithinMs
  while (performance.now() < end) {
    const answer = await fetch(endpoint).catch(() => null)
    if (answer) return
    await pause(50)
  }
  throw new Error(`The SQS server did not listen at ${endpoint} within ${startWithinMs / 1000} s.`)
}

/** Another program that reads and writes the queue. */
export async function openStranger({ endpoint, region, queue }: QueueSettings) {
  const {
    GetQueueAttributesCommand,
    GetQueueUrlCommand,
    ReceiveMessageCommand,
    SendMessageCommand,
    SQSClient,
  } = await import('@aws-sdk/client-sqs')
  const client = new SQSClient({ region, ...(endpoint !== null && { endpoint }) })
  const { QueueUrl } = await client.send(new GetQueueUrlCommand({ QueueName: queue }))
  const read = new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['All'] })
  return {
    send: (MessageBody: string) => client.send(new SendMessageCommand({ QueueUrl, MessageBody })),
    /** Resolves to the bodies that arrive within a second. */
    async receive(): Promise<string[]> {
      const given = { QueueUrl, MaxNumberOfMessages: 10, WaitTimeSeconds: 1 }
      const { Messages = [] } = await client.send(new ReceiveMessageCommand(given))
      return Messages.map(({ Body = '' }) => Body)
    },
    /** Messages in the queue, including received ones. */
    async size(): Promise<number> {
      const { Attributes } = await client.send(read)
      const { ApproximateNumberOfMessages = 0, ApproximateNumberOfMessagesNotVisible = 0 } = Attributes ?? {}
      return Number(ApproximateNumberOfMessages) + Number(ApproximateNumberOfMessagesNotVisible)
    },
    close: () => client.destroy(),
  }
}

/** A consumer that receives up to `most` messages, and deletes none. */
export async function startThief(settings: QueueSettings, most = Number.POSITIVE_INFINITY) {
  const stranger = await openStranger(settings)
  let taken = 0
  let isStopped = false
  let next = Promise.withResolvers<void>()
  const done = (async () => {
    while (!isStopped && taken < most) {
      const { length } = await stranger.receive()
      taken += length
      if (length === 0) continue
      next.resolve()
      next = Promise.withResolvers<void>()
    }
  })()
  return {
    taken: () => taken,
    /** Resolves when it receives more. */
    next: () => next.promise,
    /** Resolves when it has received `most`. */
    done,
    async stop(): Promise<void> {
      isStopped = true
      await done
      stranger.close()
    },
  }
}
