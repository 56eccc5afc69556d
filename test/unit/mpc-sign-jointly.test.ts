/**
 * Accusations at the coordinator: parties that accuse others can neither get them banned nor keep them from signing.
 */

import t from 'tap'
import { eip191Digest } from '../../src/keys/eip191.ts'
import { hdKey } from '../../src/keys/hd-key.ts'
import type { JointKey } from '../../src/keys/mpc/ceremonies.ts'
import { createMpcSigner } from '../../src/keys/mpc/mpc-signer.ts'
import type { ItemOutcome, Refusal } from '../../src/keys/mpc/protocol.ts'
import { type Accused, createSignJointly } from '../../src/keys/mpc/sign-jointly.ts'
import { shareFacts, signTogether } from '../../src/keys/mpc/sign-together.ts'
import type { RecoverableSignature } from '../../src/keys/recoverable-signature.ts'
import { goldenShares } from '../support/golden-shares.ts'
import { matchExactly } from '../support/match-exactly.ts'

const shares = goldenShares(2, 3)
const { threshold, address, publicKey } = shareFacts(shares[0] as Uint8Array)
const key: JointKey = {
  ...{ keyId: 'key', threshold, parties: [1, 2, 3], epoch: 0, refreshId: null, banned: [], apart: [] },
  publicKey: `0x${Buffer.from(publicKey).toString('hex')}`,
  address,
}
const message = Buffer.from('hi')
const item = {
  ...{ keyId: 'key', intent: { kind: 'signature', id: 'sig_1' } as const, digest: eip191Digest(message) },
  subject: { kind: 'message', message } as const,
}
const signature = signTogether(shares.slice(1), item.digest)
const SIGNED: ItemOutcome = { ok: true, result: Buffer.concat([signature.signature, Buffer.of(signature.recoveryId)]) }
const refusal = (kind: Refusal['kind'], party: number | null): ItemOutcome => ({
  ok: false,
  refusal: { kind, party, reason: 'why' },
})

/** Party 1 answers as the test specifies; the others sign with each other, and give up items that it gives up. */
function jointly(lie: (other: number) => ItemOutcome, more: Partial<Parameters<typeof createSignJointly>[0]> = {}) {
  const asked: string[] = []
  const accused: Accused[] = []
  const sign = createSignJointly({
    coordinator: {
      reachable: () => [1, 2, 3],
      ask: async (signers) => {
        asked.push(signers.toSorted().join())
        if (!signers.includes(1)) return new Map(signers.map((party) => [party, [SIGNED]]))
        return new Map(
          signers.map((party) => [
            party,
            [party === 1 ? lie(signers.find((other) => other !== 1) as number) : refusal('given_up', 1)],
          ]),
        )
      },
    },
    jointKeysOf: async () => new Map([[key.keyId, key]]),
    onAccused: async (each) => void accused.push(each),
    onWorn: async () => undefined,
    onRefused: () => undefined,
    timeoutMs: 1_000,
    now: () => 0,
    ...more,
  })
  return { sign, asked, accused }
}

t.test('one party that accuses every other keeps the honest ones from signing only for a moment', async (t) => {
  for (const kind of ['cheated', 'banned', 'stalled'] as const) {
    const { sign, asked } = jointly((other) => refusal(kind, other))
    for (let n = 0; n < 6; n += 1) matchExactly(t, await sign([item]), [{ recoveryId: signature.recoveryId }])
    t.ok(asked.length <= 9, `${kind}: at most 9 sessions start: ${asked.join(' ')}`)
  }
})

t.test('an accusing party is ranked last before anything is recorded, however slow the database is', async (t) => {
  let recording = 0
  const never = new Promise<void>(() => undefined)
  const { sign, asked } = jointly((other) => refusal('cheated', other), {
    onAccused: () => {
      recording += 1
      return never
    },
  })
  const waiting: Promise<unknown>[] = []
  while (recording === 0) {
    waiting.push(sign([item]))
    await new Promise((resolve) => setImmediate(resolve))
  }
  const before = asked.length
  for (let n = 0; n < 3; n += 1) waiting.push(sign([item]))
  await new Promise((resolve) => setImmediate(resolve))
  const partnersOfLiar = asked.slice(before).filter((signers) => signers.startsWith('1'))
  t.ok(partnersOfLiar.length <= 1, `party 1 joins at most one more session: ${asked.slice(before).join(' ')}`)
})

t.test('only an accusation of another party of the same session is recorded, once for each key', async (t) => {
  const lies: readonly (readonly [number | null, boolean])[] = [
    [2, true],
    [1, false],
    [9, false],
    [null, false],
  ]
  for (const [about, counts] of lies) {
    const { sign, accused } = jointly((other) => refusal('cheated', about === 2 ? other : about))
    await sign([item, item])
    const pairs = accused.map(({ accusedBy, party }) => `${accusedBy} ${party}`)
    t.equal(pairs.length > 0, counts, `the accusation of party ${about} by party 1 counts: ${counts}`)
    t.strictSame(pairs.length, new Set(pairs).size)
    t.ok(accused.every(({ accusedBy, party, epoch }) => accusedBy === 1 && [2, 3].includes(party) && epoch === 0))
  }
})

t.test('the sender of a transaction is recovered from its bytes, whoever signed them', async (t) => {
  const transaction = {
    ...{ chainId: 1, nonce: 0, to: address, value: 1n, data: '0x' },
    ...{ gasLimit: 21_000n, maxFeePerGas: 2n, maxPriorityFeePerGas: 1n },
  }
  const request = {
    key: { kind: 'mpc', keyId: 'key' },
    intent: { kind: 'transaction', id: 'tx_1' },
    transaction,
  } as const
  const stranger = hdKey(new Uint8Array(32), 0)
  const senderBy = async (sign: (digest: Uint8Array) => RecoverableSignature) => {
    const signer = createMpcSigner(async ([asked]) => [sign(asked?.digest ?? new Uint8Array())])
    const [signed] = await signer.signTransactions([request])
    return signed?.sender
  }
  t.equal(await senderBy((digest) => signTogether(shares.slice(1), digest)), address.toLowerCase())
  t.equal(await senderBy((digest) => stranger.sign(digest)), stranger.address.toLowerCase())
  t.equal(await senderBy(() => ({ signature: new Uint8Array(64), recoveryId: 0 })), null)
})

t.test(
  'of a nonce that parties gave to another transaction that one is named, whether it was asked for or not',
  async (t) => {
    const wanted = {
      ...item,
      intent: { kind: 'transaction', id: 'tx_1' } as const,
      subject: {
        kind: 'transaction',
        transaction: {
          ...{ chainId: 1, nonce: 5, to: address, value: 1n, data: '0x' },
          ...{ gasLimit: 21_000n, maxFeePerGas: 2n, maxPriorityFeePerGas: 1n },
        },
      } as const,
    }
    const refused: Refusal = { kind: 'nonce_claimed', party: null, reason: 'why' }
    const answer = async (...said: readonly Refusal[]) => {
      const { sign } = jointly(() => SIGNED, {
        coordinator: {
          reachable: () => [1, 2, 3],
          ask: async (signers) =>
            new Map(
              signers.map((party, index) => [party, [{ ok: false, refusal: said[index % said.length] as Refusal }]]),
            ),
        },
      })
      return sign([wanted])
    }
    const held = { ...refused, holder: 'tx_2' }
    const stalled: Refusal = { kind: 'stalled', party: 2, reason: 'why' }
    await t.rejects(answer(held), { code: 'nonce_claimed', transactionId: 'tx_2', nonce: 5 })
    // Other refusals tell less, its own nonce tells more.
    await t.rejects(answer(stalled, held), { code: 'nonce_claimed', transactionId: 'tx_2', nonce: 5 })
    await t.rejects(answer({ ...refused, nonce: 4 }, held), { code: 'nonce_claimed', transactionId: 'tx_1', nonce: 4 })
    await t.rejects(answer(refused), { code: 'mpc_refused' }, 'parties of an older version do not name it')
  },
)

t.test('one signature waits for a session of each other call, not for all that they ask for', async (t) => {
  const begun: string[] = []
  const waiting: (() => void)[] = []
  const { sign } = jointly(() => SIGNED, {
    coordinator: {
      reachable: () => [2, 3],
      ask: async (signers, begin) => {
        const items = begin.ceremony === 'sign' ? begin.items : []
        begun.push(items[0]?.intent.id ?? '')
        await new Promise<void>((resolve) => waiting.push(resolve))
        return new Map(signers.map((party) => [party, items.map(() => SIGNED)]))
      },
    },
    jointKeysOf: async (ids) => new Map(ids.map((keyId) => [keyId, { ...key, keyId }])),
  })
  const of = (id: string, count: number) =>
    sign(Array.from({ length: count }, () => ({ ...item, keyId: id, intent: { kind: 'signature', id } as const })))
  const settled = () => new Promise((resolve) => setImmediate(resolve))
  const others = Array.from({ length: 8 }, (_, n) => of(`flood_${n}`, 4))
  await settled()
  const own = of('one', 1)
  for (let n = 0; n < 100; n += 1) {
    await settled()
    waiting.shift()?.()
  }
  await Promise.all([...others, own])
  const place = begun.indexOf('one')
  t.equal(begun.length, 33)
  t.ok(place <= 12, `after ${place} sessions of others, of which 4 run when it comes`)
})
