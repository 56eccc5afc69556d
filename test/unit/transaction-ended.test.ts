/**
 * What can be deleted about a transaction outside the log: nothing that may still be mined, signed again, or removed
 * from its block.
 */
import '../../src/declarations.ts'
import { readFileSync } from 'node:fs'
import t from 'tap'
import type { TransactionEvent } from '../../src/transactions/all-events.ts'
import { hasEndedForGood } from '../../src/transactions/ended-for-good.ts'
import { evolve, UNKNOWN_TRANSACTION } from '../../src/transactions/state.ts'

const NOW = '2026-11-21T12:00:00.000Z'
const LONG_AFTER = Date.parse('2030-01-01T00:00:00.000Z')
const DAY_MS = 24 * 60 * 60_000

/** The first version, which had no quote. */
function golden(type: TransactionEvent['type']): TransactionEvent {
  const { data } = JSON.parse(readFileSync(new URL(`../golden/events/${type}.v1.json`, import.meta.url), 'utf8'))
  return { type, data: { quote: null, ...data } } as TransactionEvent
}

const state = (...types: TransactionEvent['type'][]) => types.map(golden).reduce(evolve, UNKNOWN_TRANSACTION)
const signed = ['TransferRequested', 'TransactionSigned', 'TransactionSubmitted'] as const
const ended = (...types: TransactionEvent['type'][]) => hasEndedForGood(state(...types), LONG_AFTER)

t.test('a transaction deep in the chain has ended', async (t) => {
  t.ok(ended(...signed, 'TransactionMined', 'TransactionConfirmed'))
  t.ok(ended(...signed, 'TransactionMined', 'TransactionReverted'))
  t.ok(ended(...signed, 'CancellationRequested', 'TransactionReplaced', 'TransactionMined', 'TransactionCancelled'))
})

t.test('a transaction that failed without bytes, or whose nonces others used, has ended', async (t) => {
  t.ok(ended('TransferRequested', 'TransactionFailed'))
  t.ok(ended('TransferRequested', 'CancellationRequested', 'TransactionCancelled'))
  t.ok(ended(...signed, 'NonceConsumedExternally', 'TransactionFailed'))
})

t.test('a transaction that may still be signed, mined or reverted has not ended, however old it is', async (t) => {
  t.notOk(hasEndedForGood(UNKNOWN_TRANSACTION, LONG_AFTER), 'a transaction that the log does not have has not ended')
  t.notOk(ended('TransferRequested'))
  t.notOk(ended(...signed))
  t.notOk(ended(...signed, 'TransactionAwaitingFunds'))
  t.notOk(ended(...signed, 'CancellationRequested', 'TransactionReplaced'))
  t.notOk(ended(...signed, 'NonceConsumedExternally'))
  t.notOk(ended(...signed, 'TransactionMined'))
  t.notOk(ended(...signed, 'TransactionMined', 'TransactionConfirmed', 'TransactionReorged'))
  t.notOk(ended(...signed, 'TransactionFailed'), 'a failed transaction with signed bytes may still be mined')
})

t.test('no transaction has ended within a day', async (t) => {
  const confirmed = evolve(state(...signed, 'TransactionMined'), {
    type: 'TransactionConfirmed',
    data: { blockNumber: 1, confirmations: 32, confirmedAt: NOW },
  })
  t.notOk(hasEndedForGood(confirmed, Date.parse(NOW) + DAY_MS))
  t.ok(hasEndedForGood(confirmed, Date.parse(NOW) + DAY_MS + 1))
})
