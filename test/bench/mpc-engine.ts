/**
 * The engine alone, in a separate process: both signers of a 2-of-3 key compute in one thread, without communication.
 * On `generate` or `sign` from its parent, it returns the cost of a party's share of the work.
 */
import { randomBytes } from 'node:crypto'
import { createEngine, type Engine } from '../../src/keys/mpc/engine.ts'
import type { Step } from '../../src/keys/mpc/engine-wire.ts'
import { makeShares } from '../support/joint-key.ts'

export type EngineOrder = { readonly what: 'generate' | 'sign'; readonly seconds: number }
/** `perSecond` counts whole ceremonies: keys, signatures. `cpuMs` is for one party in one of them. */
export type EngineCost = { readonly perSecond: number; readonly cpuMs: number }

const [THRESHOLD, PARTIES] = [2, 3]
/** WebAssembly is recompiled with optimization during its first runs. */
const WARM_UP = 20

const shares = makeShares(THRESHOLD, PARTIES)
const signers = [1, 2].map((party) => {
  const engine = createEngine()
  return { engine, party, share: engine.load(shares[party - 1] ?? new Uint8Array()).number }
})

function signOnce(): void {
  const [sessionId, digest] = [randomBytes(16), randomBytes(32)]
  let open = signers.map(({ engine, party, share }) => ({
    engine,
    party,
    step: engine.sign({ share, others: [3 - party], finisher: 1, sessionId, digest }),
  }))
  while (open.some(({ step }) => step.kind === 'continue')) open = open.map((one, _, all) => advance(one, all))
}

type Open = { readonly engine: Engine; readonly party: number; readonly step: Step }

function advance(one: Open, all: readonly Open[]): Open {
  if (one.step.kind === 'done') return one
  const incoming = all.flatMap(({ party, step }): [number, Uint8Array][] => {
    const message = party === one.party ? undefined : step.outgoing.get(one.party)
    return message === undefined ? [] : [[party, message]]
  })
  return { ...one, step: one.engine.advance(one.step.session, new Map(incoming)) }
}

function measure({ what, seconds }: EngineOrder): EngineCost {
  const [work, parties] = what === 'sign' ? [signOnce, THRESHOLD] : [() => makeShares(THRESHOLD, PARTIES), PARTIES]
  const [cpu, startedAt] = [process.cpuUsage(), performance.now()]
  let times = 0
  while (performance.now() - startedAt < 1_000 * seconds) {
    work()
    times += 1
  }
  const elapsedMs = performance.now() - startedAt
  const { user, system } = process.cpuUsage(cpu)
  return { perSecond: (1_000 * times) / elapsedMs, cpuMs: (user + system) / 1_000 / times / parties }
}

for (let n = 0; n < WARM_UP; n += 1) signOnce()
process.on('message', (order: EngineOrder) => process.send?.(measure(order)))
process.once('disconnect', () => process.exit())
process.send?.('ready')
