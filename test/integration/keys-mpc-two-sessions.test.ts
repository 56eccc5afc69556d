/**
 * A coordinator that requests signatures of one transaction in two sessions at once gets only one signature from a
 * party.
 */
import { once } from 'node:events'
import t, { type Test } from 'tap'
import type { JointKey } from '../../src/keys/mpc/ceremonies.ts'
import { openCheckCounts } from '../../src/keys/mpc/check-counts.ts'
import type { EngineThread } from '../../src/keys/mpc/engine-thread.ts'
import type { Step } from '../../src/keys/mpc/engine-wire.ts'
import { openPartyBans } from '../../src/keys/mpc/party-bans.ts'
import { type AskedSignature, type PartySignPorts, takePartInSigning } from '../../src/keys/mpc/party-sign.ts'
import { encodePayloads } from '../../src/keys/mpc/payloads.ts'
import type { RoundTable } from '../../src/keys/mpc/round-table.ts'
import { createSigningGuard } from '../../src/keys/mpc/signing-guard.ts'
import { openSigningJournal } from '../../src/keys/mpc/signing-journal.ts'
import { listeningLog, temporaryDirectory } from '../support/mpc-processes.ts'

const key: JointKey = {
  keyId: 'key',
  threshold: 2,
  parties: [1, 2, 3],
  epoch: 0,
  refreshId: null,
  publicKey: `0x02${'00'.repeat(32)}`,
  address: `0x${'12'.repeat(20)}`,
  banned: [],
  apart: [],
}

/** Goes through three rounds without computing; a session's number is its round. */
const engine: EngineThread = {
  generation: () => 1,
  close: async () => undefined,
  run: async (calls) =>
    calls.map((call) => {
      const round = call.name === 'advance' ? call.with[0] + 1 : 1
      const outgoing = new Map([[2, Uint8Array.of(round)]])
      const step: Step =
        round < 3
          ? { kind: 'continue', session: round, outgoing }
          : { kind: 'done', outgoing, result: new Uint8Array() }
      return { ok: true, value: step }
    }),
}

/** The other party sends once `speaks` resolves. */
const tableUntil = (speaks: Promise<void>): RoundTable => ({
  seated: async () => undefined,
  send: () => undefined,
  close: () => undefined,
  gather: async () => {
    await speaks
    return new Map([[2, encodePayloads([Uint8Array.of(1)])]])
  },
})

async function party(t: Test) {
  const journal = await openSigningJournal({
    directory: await temporaryDirectory(t),
    requireOwner: async () => undefined,
    log: listeningLog().log,
  })
  t.after(() => journal.close())
  const bans = await openPartyBans(await temporaryDirectory(t))
  const counts = await openCheckCounts(await temporaryDirectory(t), () => true)
  const asked: AskedSignature[] = []
  /** The log proves no nonce lost, and has no signature yet. */
  const coverageOf = async (items: readonly AskedSignature[]) => {
    asked.push(...items)
    return items.map((item) => {
      const nonce = item.subject.kind === 'transaction' ? item.subject.transaction.nonce : null
      return item.signedNonces.every((each) => each === nonce)
        ? ({ covered: true } as const)
        : { covered: false as const, rule: 'another nonce' }
    })
  }
  const ports = {
    me: 1,
    engine,
    journal,
    shares: { numberOf: async () => 1 },
    bans,
    guard: createSigningGuard({ bans, counts }),
    jointKeysOf: async () => new Map([[key.keyId, key]]),
    coverageOf,
    endedOf: async () => [],
    unknownOf: async () => [],
    onNotCovered: () => undefined,
  } satisfies PartySignPorts & Record<string, unknown>

  async function sign(nonce: number, speaks: Promise<void>, id = 'tx'): Promise<string> {
    const transaction = {
      chainId: 1,
      nonce,
      to: `0x${'34'.repeat(20)}`,
      value: 1n,
      data: '0x',
      gasLimit: 21_000n,
      maxFeePerGas: 1n,
      maxPriorityFeePerGas: 1n,
    }
    const item = {
      keyId: 'key',
      intent: { kind: 'transaction', id },
      subject: { kind: 'transaction', transaction },
    } as const
    const begin = { ceremony: 'sign', signers: [1, 2], finisher: 2, items: [item] } as const
    const session = `${id.length}${nonce}`.padStart(30, '0')
    const [outcome] = await takePartInSigning(ports, { session, begin, table: tableUntil(speaks) })
    if (outcome === undefined) throw new Error('no outcome')
    return outcome.ok ? 'signed' : outcome.refusal.kind
  }
  return { sign, asked }
}

/** Two sessions that the log both covers when they begin. */
async function atOnce(t: Test, first: readonly [number, string], second: readonly [number, string]): Promise<string[]> {
  const { sign, asked } = await party(t)
  const word = new AbortController()
  const speaks = once(word.signal, 'abort').then(() => undefined)
  const both = [first, second].map(([nonce, id]) => sign(nonce, speaks, id))
  while (asked.length < 2) await new Promise((resolve) => setTimeout(resolve, 1))
  word.abort()
  return (await Promise.all(both)).sort()
}

t.test('two transactions that were both covered when they began, under one nonce, give one signature', async (t) => {
  t.strictSame(await atOnce(t, [5, 'tx'], [5, 'other']), ['nonce_claimed', 'signed'])
})

t.test('a party signs one intent in one session at a time', async (t) => {
  t.strictSame(await atOnce(t, [5, 'tx'], [6, 'tx']), ['busy', 'signed'])
})

t.test('one after the other, the second nonce is not covered, and the first one is signed again', async (t) => {
  const { sign } = await party(t)
  t.equal(await sign(5, Promise.resolve()), 'signed')
  t.equal(await sign(6, Promise.resolve()), 'not_covered')
  t.equal(await sign(5, Promise.resolve()), 'signed')
  t.equal(await sign(5, Promise.resolve(), 'other'), 'nonce_claimed')
})
