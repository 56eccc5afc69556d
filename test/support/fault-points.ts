/**
 * Observes the effects of a process step by step: each append, RPC call, queued job, checkpoint, kept quote, and what is
 * saved of deliveries to webhooks. The parts are wrapped after they were composed; the product contains no code for it.
 */
import type { RpcReader } from '../../src/chain/json-rpc.ts'
import type { Kernel } from '../../src/compose/kernel.ts'

/** `append TransactionSigned`, `rpc eth_sendRawTransaction`, `rpc foreign eth_call`, `queue lane`, `checkpoint`, `keep quote`, `add deliveries`, `add replayed`, `record attempts`. */
export type Step = string

/** Called for each step. It may delay the step, or end the process. */
export type StepWatch = {
  readonly before: (step: Step) => void
  readonly after: (step: Step) => void
  /** The step was refused, or its outcome is unknown. */
  readonly failed?: (step: Step, error: unknown) => void
}

/** The observed parts of a process. */
export type Watched = Pick<Kernel, 'pool' | 'chains' | 'jobs'>

/** Whether a step has an effect outside the process; reads can be repeated any number of times. */
export function isEffect(step: Step): boolean {
  return !step.startsWith('rpc ') || step === 'rpc eth_sendRawTransaction'
}

/** From now on every step of the process that owns these parts is reported. */
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

  const watchedBatch =
    (name: string, batch: RpcReader['batch']): RpcReader['batch'] =>
    (requests) =>
      requests.length === 0
        ? batch(requests)
        : take(watch, `${name} ${joined(requests.map(({ method }) => method))}`, () => batch(requests))
  for (const { client, foreign } of chains.all) {
    const { batch, call, sendRawTransactions } = client
    const watched: Pick<typeof client, 'batch' | 'call' | 'sendRawTransactions'> = {
      batch: watchedBatch('rpc', batch),
      call: (method, params) => take(watch, `rpc ${method}`, () => call(method, params)),
      sendRawTransactions: (raw) => take(watch, 'rpc eth_sendRawTransaction', () => sendRawTransactions(raw)),
    }
    Object.assign(client, watched)
    Object.assign(foreign, { batch: watchedBatch('rpc foreign', foreign.batch) })
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

/** `null` for a statement that only reads, or writes data without lasting importance (leases, heartbeats). */
function stepOfStatement(statement: unknown): Step | null {
  const { name, values } = (statement ?? {}) as { readonly name?: string; readonly values?: readonly unknown[] }
  if (name === 'save_checkpoint') return 'checkpoint'
  if (name === 'keep_swap_quote') return 'keep quote'
  if (name === 'record_attempts') return 'record attempts'
  if (name === 'add_deliveries') return values?.some(isFilled) ? 'add deliveries' : null
  if (name === 'add_replayed') return values?.some(isFilled) ? 'add replayed' : null
  if (name !== 'append_commits') return null
  const [, events = '[]', rows = '{}'] = (values ?? []) as readonly string[]
  const types = (JSON.parse(events) as readonly { readonly type: string }[]).map(({ type }) => type)
  return `append ${types.length > 0 ? joined(types) : joined(Object.keys(JSON.parse(rows) as object))}`
}

function isFilled(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0
}

/** Each name once, sorted, so that the same step has the same name in any order of its parts. */
function joined(names: readonly string[]): string {
  return [...new Set(names)].sort().join('+')
}
