/** Ids: their format, order and uniqueness. */
import t from 'tap'
import { newId } from '../../src/compose/new-id.ts'
import { idPattern, idTime } from '../../src/core/ids.ts'
import { ID_PREFIXES } from '../../src/declarations.ts'

t.test('ids sort in the order in which they were made, and are unique', async (t) => {
  const ids = Array.from({ length: 20_000 }, () => newId('transaction'))
  t.same(ids, [...ids].sort())
  t.equal(new Set(ids).size, ids.length)
})

t.test('an id has the form that its kind promises', async (t) => {
  for (const kind of ['wallet', 'transaction', 'apiKey', 'asset', 'request', 'mpcKey', 'refresh'] as const)
    t.match(newId(kind), new RegExp(idPattern(ID_PREFIXES[kind])))
})

t.test('the random part differs between ids of one millisecond', async (t) => {
  const tails = Array.from({ length: 1_000 }, () => newId('wallet').slice(-12))
  t.equal(new Set(tails).size, tails.length)
})

t.test('the time of an id is read from it, and other text has none', async (t) => {
  const before = Date.now()
  const made = idTime(newId('mpcKey')) ?? 0
  t.ok(before <= made && made <= Date.now())
  t.equal(idTime('mpk_some-key'), undefined)
})
