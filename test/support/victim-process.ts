/**
 * A process of the built service that exits, or stops, exactly at a fault point: `node victim-process.ts signer`.
 * Otherwise it is the production process. Its parent tells it by messages when to start and at which point to die.
 */
import { writeSync } from 'node:fs'
import type { Kernel } from '../../src/compose/kernel.ts'
import { isEffect, type Step, watchSteps } from './fault-points.ts'
import type { FromVictim, Order, ProcessKind } from './victims.ts'

/** Runs the compiled code, as in production; it also starts four times faster. */
const load = <M>(path: string) => import(new URL(`../../dist/src/${path}.js`, import.meta.url).href) as Promise<M>

type Start = (kernel: Kernel, signal: AbortSignal) => Promise<{ readonly drain: () => Promise<void> }>

const ENTRIES: Readonly<Record<ProcessKind, () => Promise<Start>>> = {
  api: async () => {
    const { composeApi } = await load<typeof import('../../src/compose/api.ts')>('compose/api')
    return async (kernel) => {
      const { app } = await composeApi(kernel, '0.0.0-test')
      await app.listen(kernel.config.api)
      return { drain: () => app.close() }
    }
  },
  dispatcher: async () =>
    (await load<typeof import('../../src/compose/dispatcher.ts')>('compose/dispatcher')).startDispatcher,
  signer: async () => (await load<typeof import('../../src/compose/signer.ts')>('compose/signer')).startSigner,
  submitter: async () =>
    (await load<typeof import('../../src/compose/submitter.ts')>('compose/submitter')).startSubmitter,
  'chain-follower': async () =>
    (await load<typeof import('../../src/compose/chain-follower.ts')>('compose/chain-follower')).startChainFollower,
  'webhook-sender': async () => {
    const { startWebhookSender } = await load<typeof import('../../src/webhooks/run-sender.ts')>('webhooks/run-sender')
    const { withRender } = await load<typeof import('../../src/compose/catalogue.ts')>('compose/catalogue')
    return async (kernel, signal) => startWebhookSender(await withRender(kernel), signal)
  },
}

/** Far longer than a signal takes to stop every thread. */
const STANDS_STILL_MS = 200

const kind = process.argv[2] as ProcessKind
let armed: Extract<Order, { readonly type: 'arm' }> | null = null
let lastEffect: Step | null = null

/** Written before the signal is sent, so that the parent reads it in any case. */
function say(message: FromVictim): void {
  writeSync(1, `${JSON.stringify(message)}\n`)
}

function reach(moment: 'before' | 'after', step: Step): void {
  const order = armed
  if (order === null || order.moment !== moment || order.step !== step) return
  if (order.afterEffect !== undefined && order.afterEffect !== lastEffect) return
  armed = null
  say({ type: 'reached', moment, step })
  process.kill(process.pid, order.signal)
  // Another thread may receive the signal: this one must not continue before the whole process is stopped.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, STANDS_STILL_MS)
}

async function start(work: Start): Promise<void> {
  const { runProcess } = await load<typeof import('../../src/compose/run-process.ts')>('compose/run-process')
  await runProcess(
    kind,
    (kernel, signal) => {
      watchSteps(kernel, {
        before: (step) => reach('before', step),
        after(step) {
          if (isEffect(step)) lastEffect = step
          reach('after', step)
        },
        failed: (step, error) =>
          say({ type: 'failed', step, error: String((error as { detail?: string }).detail ?? error) }),
      })
      return work(kernel, signal)
    },
    process.env,
  )
  say({ type: 'started' })
}

// Changes the time of day that the process reads; timers continue, as when a system's clock is set.
const now = Date.now
let aheadMs = 0
Date.now = () => now() + aheadMs

process.on('disconnect', () => process.exit())
process.on('message', (order: Order) => {
  switch (order.type) {
    case 'arm':
      lastEffect = null
      armed = order
      return say({ type: 'armed' })
    case 'set clock':
      aheadMs = order.aheadMs
      return say({ type: 'clock set' })
    case 'start':
      void work.then(start)
  }
})
const work = ENTRIES[kind]()
await work
say({ type: 'loaded' })
