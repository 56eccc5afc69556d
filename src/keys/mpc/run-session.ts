/**
 * One party's side of a session: several engine ceremonies in parallel, in step with the other parties, with one
 * message to each per round. A failed item is given up alone; the others continue.
 */
import type { EngineCall, EngineResult } from './engine-calls.ts'
import type { EngineThread } from './engine-thread.ts'
import type { Step } from './engine-wire.ts'
import { decodePayloads, encodePayloads, type Payloads } from './payloads.ts'
import type { ItemOutcome, Refusal } from './protocol.ts'
import { type RoundTable, Stalled } from './round-table.ts'

/** How an item begins: a call that returns a `Step`, or a refusal. */
export type Beginning = { readonly call: EngineCall } | { readonly refusal: Refusal }

/** What the party observes about participants while a session runs. */
export type Watch = {
  /** Resolves when the checks of this session are counted: until then the engine gets no messages of others. */
  readonly counted: Promise<void>
  /** Why an item must stop now; null while it may continue. */
  readonly fallen: (place: number) => Refusal | null
  /**
   * The engine reported a cheating participant: takes effect immediately, in every session.
   *
   * @returns the items of this session that must stop
   */
  readonly onCheated: (place: number, party: number) => readonly number[]
  /**
   * Resolves when the bans are on disk; undefined when they already are.
   *
   * @throws BanNotKept: the session then ends without an answer
   */
  readonly unkept: () => Promise<void> | undefined
}

export type SessionRun = {
  readonly engine: Pick<EngineThread, 'run'>
  readonly begin: readonly Beginning[]
  /** The participants besides this party. */
  readonly others: readonly number[]
  readonly table: RoundTable
  readonly watch: Watch
  /**
   * Called before the messages of a round are sent, with the items that have not failed.
   *
   * @returns in the same order, why an item must be given up now, or null
   */
  readonly beforeSending?: (round: number, places: readonly number[]) => Promise<readonly (Refusal | null)[]>
}

type Running = { readonly kind: 'running'; readonly session: number; readonly outgoing: Step['outgoing'] }
type Ending = { readonly kind: 'done'; readonly result: Uint8Array; readonly outgoing: Step['outgoing'] }
type Failed = { readonly kind: 'failed'; readonly refusal: Refusal; readonly told: boolean }
type Item = Running | Ending | Failed

const NOTHING: Step['outgoing'] = new Map()

/**
 * Runs a session to its end. Never rejects because of other parties: those failures are in the outcome of each item.
 *
 * @throws BanNotKept; Unavailable when checks could not be counted
 */
export async function runSession(run: SessionRun): Promise<readonly ItemOutcome[]> {
  let items = await beginAll(run)
  for (let round = 1; ; round += 1) {
    items = await send(run, round, await withConsent(run, round, items))
    if (!items.some(({ kind }) => kind === 'running')) return items.map(outcomeOf)
    items = await receive(run, round, items)
  }
}

/** Items of parties that were banned meanwhile, here or in another session, are given up unsent. */
async function send(run: SessionRun, round: number, items: readonly Item[]): Promise<Item[]> {
  const { watch, table, others, engine } = run
  for (let unkept = watch.unkept(); unkept !== undefined; unkept = watch.unkept()) await unkept
  // No other code runs between this check of the bans and the last message.
  const standing = items.map((item, place) => (item.kind === 'failed' ? item : (fall(watch, place) ?? item)))
  for (const [party, payloads] of outgoingOf(standing, others)) table.send(round, party, encodePayloads(payloads))
  await endSessions(
    engine,
    items.filter((_, place) => standing[place]?.kind === 'failed'),
  )
  return standing.map((item) => (item.kind === 'failed' ? { ...item, told: true } : { ...item, outgoing: NOTHING }))
}

function fall(watch: Watch, place: number): Failed | null {
  const refusal = watch.fallen(place)
  return refusal && { kind: 'failed', refusal, told: false }
}

async function beginAll({ engine, begin }: SessionRun): Promise<Item[]> {
  const results = [...(await engine.run(begin.flatMap((each) => ('call' in each ? [each.call] : []))))]
  return begin.map((each) =>
    'call' in each ? toItem(present(results.shift())) : { kind: 'failed', refusal: each.refusal, told: false },
  )
}

function toItem(result: EngineResult): Item {
  if (!result.ok) return { kind: 'failed', refusal: result.failure, told: false }
  const step = result.value as Step
  return step.kind === 'done' ? { ...step, kind: 'done' } : { ...step, kind: 'running' }
}

function outcomeOf(item: Item): ItemOutcome {
  if (item.kind === 'done') return { ok: true, result: item.result }
  if (item.kind === 'failed') return { ok: false, refusal: item.refusal }
  throw new TypeError('a running item has no outcome')
}

async function withConsent({ beforeSending, engine }: SessionRun, round: number, items: Item[]): Promise<Item[]> {
  if (beforeSending === undefined) return items
  const places = items.flatMap((item, index) => (item.kind === 'failed' ? [] : [index]))
  if (places.length === 0) return items
  const answers = await beforeSending(round, places)
  const refused = new Map(places.map((place, index) => [place, answers[index] ?? null]))
  await endSessions(
    engine,
    items.filter((_, index) => refused.get(index)),
  )
  return items.map((item, index) => {
    const refusal = refused.get(index)
    return refusal ? { kind: 'failed', refusal, told: false } : item
  })
}

/** The messages of this round for each receiver: an item's message, or that the item is given up. */
function outgoingOf(items: readonly Item[], others: readonly number[]): Map<number, Payloads> {
  const failedNow = items.some((item) => item.kind === 'failed' && !item.told)
  const payloads = others.map((party): [number, Payloads] => [
    party,
    items.map((item) => (item.kind === 'failed' ? null : (item.outgoing.get(party) ?? null))),
  ])
  return new Map(payloads.filter(([, each]) => failedNow || each.some((payload) => payload !== null)))
}

async function receive(run: SessionRun, round: number, items: Item[]): Promise<Item[]> {
  const { engine, table, others, watch } = run
  let incoming: ReadonlyMap<number, Uint8Array>
  try {
    incoming = await table.gather(round)
  } catch (error) {
    if (!(error instanceof Stalled)) throw error
    const refusal: Refusal = { kind: 'stalled', party: error.party, reason: error.message }
    await endSessions(engine, items)
    return items.map((item) => (item.kind === 'running' ? { kind: 'failed', refusal, told: false } : item))
  }
  const said = new Map(others.map((party) => [party, decodePayloads(incoming.get(party) ?? EMPTY, items.length)]))
  await watch.counted
  const heard = items.map((item, index) => {
    const after = hear(item, index, said)
    return after.kind === 'running' ? (fall(watch, index) ?? after) : after
  })
  await endSessions(
    engine,
    items.filter((item, index) => item.kind === 'running' && heard[index]?.kind === 'failed'),
  )
  const calls = heard.flatMap((item, index): EngineCall[] =>
    item.kind === 'running' ? [{ name: 'advance', with: [item.session, messagesFor(index, said)] }] : [],
  )
  const results = [...(await engine.run(calls))]
  return judged(
    run,
    heard.map((item) => (item.kind === 'running' ? toItem(present(results.shift())) : item)),
  )
}

/**
 * Handles the engine's results. All items that stop because of a cheating party get the same answer, as do those in
 * progress when their party was banned: showing which checks passed and which failed would leak one bit for each.
 */
async function judged({ watch, engine, others }: SessionRun, items: readonly Item[]): Promise<Item[]> {
  const fallen = new Map<number, Refusal>()
  for (const place of items.keys()) {
    const refusal = watch.fallen(place)
    if (refusal !== null) fallen.set(place, refusal)
  }
  for (const [place, item] of items.entries()) {
    if (item.kind !== 'failed' || item.told || item.refusal.kind !== 'cheated' || fallen.has(place)) continue
    const { refusal } = item
    if (refusal.party === null || !others.includes(refusal.party)) {
      const reason = 'the engine blames a party that does not take part'
      fallen.set(place, { kind: 'refused', party: null, reason })
      continue
    }
    for (const each of watch.onCheated(place, refusal.party)) if (!fallen.has(each)) fallen.set(each, refusal)
  }
  await endSessions(
    engine,
    items.filter((_, place) => fallen.has(place)),
  )
  return items.map((item, place): Item => {
    const refusal = fallen.get(place)
    return refusal === undefined || (item.kind === 'failed' && item.told)
      ? item
      : { kind: 'failed', refusal, told: false }
  })
}

const EMPTY = new Uint8Array()

/** An item that another party gave up, or for which its message is malformed, cannot continue. */
function hear(item: Item, index: number, said: ReadonlyMap<number, Payloads | undefined>): Item {
  if (item.kind !== 'running') return item
  for (const [party, payloads] of said) {
    if (payloads === undefined) {
      return { kind: 'failed', refusal: { kind: 'refused', party, reason: 'its message cannot be read' }, told: false }
    }
    if (payloads[index] === null) {
      return { kind: 'failed', refusal: { kind: 'given_up', party, reason: 'it aborted' }, told: false }
    }
  }
  return item
}

function messagesFor(index: number, said: ReadonlyMap<number, Payloads | undefined>): Map<number, Uint8Array> {
  return new Map([...said].map(([party, payloads]) => [party, payloads?.[index] ?? EMPTY]))
}

async function endSessions(engine: SessionRun['engine'], items: readonly Item[]): Promise<void> {
  const calls = items.flatMap((item): EngineCall[] =>
    item.kind === 'running' ? [{ name: 'end', with: [item.session] }] : [],
  )
  if (calls.length > 0) await engine.run(calls)
}

function present(result: EngineResult | undefined): EngineResult {
  if (result === undefined) throw new TypeError('the engine returned fewer results than calls')
  return result
}
