// What the document thread does: plain data in, plain data out.

import { isMainThread, parentPort } from 'node:worker_threads'
import { readHtml } from './html.ts'
import { readMarkdown } from './markdown.ts'
import type { Line } from './rich-text.ts'

const tasks = {
  /** The lines of a program's text, or of a mirrored page. */
  linesOfHtml: (html: string): readonly Line[] => readHtml(html, { isOwn: true }).lines,
  linesOfMarkdown: (text: string): readonly Line[] => readMarkdown(text).lines,
}

export type Tasks = typeof tasks
export type TaskName = keyof Tasks
export type Input<Name extends TaskName> = Parameters<Tasks[Name]>
export type Output<Name extends TaskName> = ReturnType<Tasks[Name]>

export interface Order<Name extends TaskName = TaskName> {
  readonly name: Name
  readonly input: Input<Name>
}

export type Answer = { readonly output: Output<TaskName> } | { readonly error: unknown }

function answer({ name, input }: Order): Answer {
  try {
    // `Order` pairs each task with its own input.
    const task = tasks[name] as (...given: Order['input']) => Output<TaskName>
    return { output: task(...input) }
  } catch (error) {
    return { error }
  }
}

if (!isMainThread) {
  parentPort?.on('message', (order: Order) => parentPort?.postMessage(answer(order)))
  parentPort?.postMessage('ready')
}
