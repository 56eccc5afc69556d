/**
 * Watches what a process does to the world, step by step: each append, each RPC call, each job that is queued and each
 * checkpoint. The parts are wrapped after they were composed; nothing in the product knows of it.
 */
import type { Kernel } from '../../src/compose/kernel.ts'

/** `append TransactionSigned`, `rpc eth_sendRawTransaction`, `queue lane`, `checkpoint`. */
export type Step = string

/** What is told of each step. It may hold the step up, or end the process. */
export type StepWatch = {
  readonly before: (step: Step) => void
  readonly after: (step: Step) => void
  /** The step was refused, or nobody knows what became of it. */
  readonly failed?: (step: Step, error: unknown) => void
}

/** Parts of a process as they are watched. */
export type Watched = Pick<Kernel, 'pool' | 'chains' | 'jobs'>

/** Whether a step leaves a trace outside the process: what only reads can be done any number of times. */
export function isEffect(step: Step): boolean {
  return !step.startsWith('rpc ') || step === 'rpc eth_sendRawTransaction'
}

/** From now on every step of the process that these parts belong to is told. */
export function watchSteps({ pool, chains, jobs }: Watched, watch: StepWatch): void {
  const query = pool.query.bind(pool) as (...args: unknown[]) => Promise<unknown>
  const watchedQuery = (...args: unknown[]) => {
    const step = stepOfStatement(args[0])
    return step === null ? query(...args) : take(watch, step, () => query(...args))
  }
  Object.assign(pool, { query: watchedQuery })

  const { add } = jobs
  const watchedAdd: typeof add = (wanted) =>
    take(watch, `queue ${joined(wanted.map(({ queue }) => queue))}`, () => add(wanted))
  Object.assign(jobs, { add: watchedAdd })

  for (const { client } of chains.all) {
    const { batch, call, sendRawTransactions } = client
    const watched: Pick<typeof client, 'batch' | 'call' | 'sendRawTransactions'> = {
      batch: (requests) =>
        requests.length === 0
          ? batch(requests)
          : take(watch, `rpc ${joined(requests.map(({ method }) => method))}`, () => batch(requests)),
      call: (method, params) => take(watch, `rpc ${method}`, () => call(method, params)),
      sendRawTransactions: (raw) => take(watch, 'rpc eth_sendRawTransaction', () => sendRawTransactions(raw)),
    }
    Object.assign(client, watched)
  }
}

async function take<T>(watch: StepWatch, step: Step, act: () => Promise<T>): Promise<T> {
  watch.before(step)
  try {
    const result = await act()
    watch.after(step)
    return result
  } catch (error) {
    watch.failed?.(step, error)
    throw error
  }
}

/** `null` for a statement that only reads, or that writes what nobody relies on (leases, heartbeats). */
function stepOfStatement(statement: unknown): Step | null {
  const { name, values } = (statement ?? {}) as { readonly name?: string; readonly values?: readonly string[] }
  if (name === 'save_checkpoint') return 'checkpoint'
  if (name !== 'append_commits') return null
  const [, events = '[]', rows = '{}'] = values ?? []
  const types = (JSON.parse(events) as readonly { readonly type: string }[]).map(({ type }) => type)
  return `append ${types.length > 0 ? joined(types) : joined(Object.keys(JSON.parse(rows) as object))}`
}

/** Each name once, in one order, so that the same step has the same name however its parts are ordered. */
function joined(names: readonly string[]): string {
  return [...new Set(names)].sort().join('+')
}
