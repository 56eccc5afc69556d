/**
 * The threshold engine alone: signers, the effect of a changed bit, and the uselessness of old shares. Prints its seed;
 * MPC_SIGNATURES makes it sign more than a normal run.
 */
import { randomBytes } from 'node:crypto'
import { computeAddress, hexlify, recoverAddress } from 'ethers'
import fc from 'fast-check'
import t from 'tap'
import { createEngine, type Engine } from '../../src/keys/mpc/engine.ts'
import { EngineFailure, type Step } from '../../src/keys/mpc/engine-wire.ts'
import { goldenShares } from '../support/golden-shares.ts'
import { refreshShares } from '../support/joint-key.ts'
import { HALF_ORDER } from '../support/key-vectors.ts'

const SIGNATURES = Number(process.env.MPC_SIGNATURES ?? 40)
const PAIRS = [
  [1, 2],
  [1, 3],
  [2, 3],
] as const
const ROUNDS = 3

type Seat = { readonly engine: Engine; readonly share: number }
/** Changes what `from` sends in a round, counted from 1. */
type Tamper = (round: number, from: number, bytes: Uint8Array) => Uint8Array

function seatsOf(shares: readonly Uint8Array[]): readonly Seat[] {
  return shares.map((share) => {
    const engine = createEngine()
    return { engine, share: engine.load(share).number }
  })
}

const SHARES = goldenShares(2, 3)
const seats = seatsOf(SHARES)
const ADDRESS = computeAddress(hexlify(createEngine().load(SHARES[0] as Uint8Array).publicKey))

/** The first of the pair finishes. @throws EngineFailure of the first that fails */
function sign(
  pair: readonly number[],
  digest: Uint8Array,
  tamper: Tamper = (_, __, bytes) => bytes,
  at = seats,
): Buffer {
  const sessionId = randomBytes(16)
  const finisher = pair[0] as number
  const seat = (party: number) => at[party - 1] as Seat
  const other = (party: number) => pair.find((one) => one !== party) as number
  let steps = new Map<number, Step>(
    pair.map((party) => {
      const { engine, share } = seat(party)
      return [party, engine.sign({ share, others: [other(party)], finisher, sessionId, digest })]
    }),
  )
  for (let round = 1; ; round += 1) {
    const sent = new Map([...steps].map(([party, { outgoing }]) => [party, outgoing.get(other(party))]))
    steps = new Map(
      [...steps].flatMap(([party, step]): [number, Step][] => {
        if (step.kind === 'done') return []
        const bytes = sent.get(other(party)) ?? new Uint8Array()
        const incoming = new Map([[other(party), tamper(round, other(party), bytes)]])
        return [[party, seat(party).engine.advance(step.session, incoming)]]
      }),
    )
    const last = steps.get(finisher)
    if (last?.kind === 'done') return Buffer.from(last.result)
  }
}

function recovered(signature: Buffer, digest: Uint8Array): string {
  const [r, s] = [hexlify(signature.subarray(0, 32)), hexlify(signature.subarray(32, 64))]
  return recoverAddress(hexlify(digest), { r, s, yParity: signature[64] === 1 ? 1 : 0 })
}

t.test(`every pair of the three signs for the address, ${SIGNATURES} times, with s in the lower half`, (t) => {
  for (let made = 0; made < SIGNATURES; made += 1) {
    const digest = randomBytes(32)
    const signature = sign(PAIRS[made % PAIRS.length] ?? PAIRS[0], digest)
    if (recovered(signature, digest) !== ADDRESS) t.fail(`the signature is not by the key: ${digest.toString('hex')}`)
    if (BigInt(hexlify(signature.subarray(32, 64))) > HALF_ORDER) t.fail('s is in the upper half of the order')
  }
  t.end()
})

t.test('a changed bit in any message gives no signature, and an error that names the cause', (t) => {
  const seed = Number(process.env.MPC_SEED ?? Date.now() % 1_000_000)
  t.comment(`seed ${seed}`)
  const kinds = new Map<string, number>()
  const changes = fc.record({ round: fc.integer({ min: 1, max: ROUNDS }), bit: fc.nat(), first: fc.boolean() })
  fc.assert(
    fc.property(changes, ({ round, bit, first }) => {
      const [finisher, signer] = PAIRS[1]
      const liar = first && round < ROUNDS ? finisher : signer
      const tamper: Tamper = (at, from, bytes) => {
        if (at !== round || from !== liar) return bytes
        const changed = Uint8Array.from(bytes)
        const place = (bit >> 3) % changed.length
        changed[place] = (changed[place] ?? 0) ^ (1 << (bit & 7))
        return changed
      }
      try {
        sign(PAIRS[1], randomBytes(32), tamper)
        return false
      } catch (error) {
        if (!(error instanceof EngineFailure)) throw error
        kinds.set(error.kind, (kinds.get(error.kind) ?? 0) + 1)
        return error.kind !== 'invalid' && (error.kind !== 'cheated' || error.party === liar)
      }
    }),
    { numRuns: 60, seed },
  )
  t.comment(Object.fromEntries(kinds))
  const digest = randomBytes(32)
  t.equal(recovered(sign(PAIRS[0], digest), digest), ADDRESS, 'the engine still signs after the error')
  t.end()
})

t.test('after a refresh the address is the same, and new shares do not sign with old ones', (t) => {
  const refreshed = refreshShares(SHARES)
  const digest = randomBytes(32)
  t.equal(recovered(sign([1, 3], digest, undefined, seatsOf(refreshed)), digest), ADDRESS)
  const mixed = seatsOf([SHARES[0], refreshed[1], SHARES[2]] as Uint8Array[])
  t.throws(() => sign([1, 2], digest, undefined, mixed), EngineFailure)
  t.throws(() => sign([2, 3], digest, undefined, mixed), EngineFailure)
  t.end()
})

t.test('a message of one session is refused in another', (t) => {
  const kept = new Map<string, Uint8Array>()
  const digest = randomBytes(32)
  sign([1, 2], digest, (round, from, bytes) => {
    kept.set(`${round} ${from}`, Uint8Array.from(bytes))
    return bytes
  })
  for (const round of [1, 2, 3]) {
    const replay: Tamper = (at, from, bytes) =>
      at === round && from === 2 ? (kept.get(`${at} ${from}`) ?? bytes) : bytes
    t.throws(() => sign([1, 2], digest, replay), EngineFailure, `another session refuses a message of round ${round}`)
  }
  t.end()
})

t.test('bytes that are not a share, a request or a session are refused', (t) => {
  const engine = createEngine()
  const share = SHARES[0] as Uint8Array
  t.throws(() => engine.load(share.subarray(0, 1_000)), { code: 'mpc_invalid' })
  t.throws(() => engine.load(Uint8Array.from(share, (byte, at) => (at === 60 ? byte ^ 1 : byte))), {
    code: 'mpc_invalid',
  })
  t.throws(() => engine.advance(99, new Map()), { code: 'mpc_invalid' })
  t.throws(() => engine.generate({ party: 4, threshold: 2, parties: 3, sessionId: randomBytes(16) }), {
    code: 'mpc_invalid',
  })
  t.throws(() => engine.generate({ party: 1, threshold: 1, parties: 3, sessionId: randomBytes(16) }), {
    code: 'mpc_invalid',
  })
  const { number } = engine.load(share)
  const request = { share: number, others: [2], finisher: 2, sessionId: randomBytes(16) }
  t.throws(() => engine.sign({ ...request, digest: randomBytes(31) }), { code: 'mpc_invalid' })
  t.throws(() => engine.sign({ ...request, finisher: 3, digest: randomBytes(32) }), { code: 'mpc_invalid' })
  t.throws(() => engine.sign({ ...request, others: [2, 3], digest: randomBytes(32) }), EngineFailure)
  t.end()
})
