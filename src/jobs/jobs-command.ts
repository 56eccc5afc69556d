/** `npm run jobs -- counts|failed|retry`: lists waiting and failed jobs, and retries failed ones. */
import { parseArgs } from 'node:util'
import { Unavailable } from '../core/errors.ts'
import { isQueueName, QUEUE_NAMES, type QueueName } from '../declarations.ts'
import type { FailedJob, Jobs } from './jobs.ts'

const USAGE = `usage: npm run jobs -- <command> [--json]

  counts                     count the jobs of each queue by state
  failed [queue] [--limit N] list failed jobs, newest first (default 20 of each queue)
  retry <queue> <id>         queue a failed job again, with all its attempts
  retry <queue> --all        queue all failed jobs of a queue again

queues: ${QUEUE_NAMES.join(', ')}
exit codes: 0 done, 1 no such failed job, 2 wrong usage, 3 the queue does not answer
`

export type JobsCommandIo = {
  readonly jobs: Pick<Jobs, 'counts' | 'failed' | 'retry' | 'retryAll'>
  readonly out: (text: string) => void
  readonly err: (text: string) => void
}

class WrongUsage extends Error {}

/** Runs one command. Returns the exit code described in the usage text. */
export async function jobsCommand(args: readonly string[], io: JobsCommandIo): Promise<number> {
  try {
    return await run(parse(args), io)
  } catch (error) {
    if (error instanceof WrongUsage) {
      io.err(`${error.message}\n\n${USAGE}`)
      return 2
    }
    if (error instanceof Unavailable) {
      io.err(`${error.message}\n`)
      return 3
    }
    throw error
  }
}

type Command = {
  readonly words: readonly string[]
  readonly json: boolean
  readonly all: boolean
  readonly limit: number
}

function parse(args: readonly string[]): Command {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: { json: { type: 'boolean' }, all: { type: 'boolean' }, limit: { type: 'string', default: '20' } },
    })
    if (!/^[1-9]\d{0,3}$/.test(values.limit)) throw new WrongUsage('--limit must be a number from 1 to 9999')
    return { words: positionals, json: values.json ?? false, all: values.all ?? false, limit: Number(values.limit) }
  } catch (error) {
    throw error instanceof WrongUsage ? error : new WrongUsage(error instanceof Error ? error.message : String(error))
  }
}

async function run({ words, json, all, limit }: Command, io: JobsCommandIo): Promise<number> {
  const [command, queue, id, ...rest] = words
  if (rest.length > 0) throw new WrongUsage(`too many arguments: ${rest.join(' ')}`)
  const print = (value: unknown, text: string) => io.out(json ? `${JSON.stringify(value)}\n` : text)
  switch (command) {
    case 'counts':
      return showCounts(io, print)
    case 'failed':
      return showFailed(io, print, queue === undefined ? QUEUE_NAMES : [queueName(queue)], limit)
    case 'retry':
      if ((id === undefined) !== all) throw new WrongUsage('retry needs a queue and either an id or --all')
      return retry(io, print, queueName(queue), id)
    default:
      throw new WrongUsage(command === undefined ? 'no command given' : `unknown command: ${command}`)
  }
}

const QUEUE_WIDTH = Math.max(...QUEUE_NAMES.map((name) => name.length)) + 2

type Print = (value: unknown, text: string) => void

async function showCounts({ jobs }: JobsCommandIo, print: Print): Promise<number> {
  const counts = await jobs.counts()
  const row = (queue: string, ...cells: readonly (string | number)[]) =>
    `${queue.padEnd(QUEUE_WIDTH)}${cells.map((cell) => String(cell).padEnd(9)).join('')}\n`
  const rows = QUEUE_NAMES.map((name) => {
    const { waiting, active, delayed, failed } = counts[name]
    return row(name, waiting, active, delayed, failed)
  })
  print(counts, [row('queue', 'waiting', 'active', 'delayed', 'failed'), ...rows].join(''))
  return 0
}

async function showFailed(
  { jobs }: JobsCommandIo,
  print: Print,
  names: readonly QueueName[],
  limit: number,
): Promise<number> {
  const found: (FailedJob & { readonly queue: QueueName })[] = []
  for (const queue of names) {
    for (const job of await jobs.failed(queue, { limit })) found.push({ queue, ...job })
  }
  print(found, found.length === 0 ? 'no failed jobs\n' : found.map(describe).join(''))
  return 0
}

function describe({
  queue,
  id,
  attempts,
  times,
  failedAt,
  reason,
  at,
}: FailedJob & { readonly queue: QueueName }): string {
  const head = `${queue} ${id}  ${new Date(failedAt).toISOString()}  attempts ${attempts}, failed ${times} times`
  return `${[head, `  ${reason}`, ...(at === null ? [] : [`  ${at}`])].join('\n')}\n`
}

async function retry({ jobs }: JobsCommandIo, print: Print, queue: QueueName, id: string | undefined): Promise<number> {
  const retried = id === undefined ? await jobs.retryAll(queue) : Number(await jobs.retry(queue, id))
  print({ queue, retried }, `${retried} queued again\n`)
  return retried === 0 && id !== undefined ? 1 : 0
}

function queueName(text: string | undefined): QueueName {
  if (text === undefined || !isQueueName(text)) throw new WrongUsage(`unknown queue: ${text ?? '(none)'}`)
  return text
}
