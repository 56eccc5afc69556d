// `matchExactly` fails wherever `t.match` would, and for each list that has more items than its pattern.
import t, { Test, type TestOpts } from 'tap'
import { matchExactly } from '../support/match-exactly.ts'

const matches = (found: unknown, pattern: unknown) => matchExactly(new Test({} as TestOpts), found, pattern)

t.test('a list with more items than its pattern does not match, at any depth', async (t) => {
  for (const [found, pattern] of [
    [
      [1, 2, 3],
      [1, 2],
    ],
    [[1], []],
    [{ events: [{ type: 'a' }, { type: 'b' }] }, { events: [{ type: 'a' }] }],
    [
      [{ errors: [] }, { errors: ['late'] }],
      [{}, { errors: [] }],
    ],
    [[[1, 2], [3, 4]], [[1, 2], [3]]], // biome-ignore format: a table
    [Object.assign(new Error('late'), { items: [1, 2] }), { message: 'late', items: [1] }],
  ]) {
    t.match(found, pattern, 'tap alone accepts it')
    t.notOk(matches(found, pattern), JSON.stringify(found))
  }
})

t.test('nothing matches that tap would refuse', async (t) => {
  for (const [found, pattern] of [
    [[1], [1, 2]],
    [[], [undefined]],
    [
      [2, 1],
      [1, 2],
    ],
    ['ab', []],
    [{}, []],
    [undefined, []],
    [{ items: [{ code: 'a' }] }, { items: [{ code: /^b$/ }] }],
  ])
    t.notOk(matches(found, pattern), JSON.stringify(found))
})

t.test('members of objects are as free as in tap, and the rest of a pattern means the same', async (t) => {
  for (const [found, pattern] of [
    [[], []],
    [
      [undefined, null],
      [undefined, null],
    ],
    [{ items: [{ code: 'a', at: 1 }], more: true }, { items: [{ code: /a/ }] }],
    [
      { id: 'x', count: 1, list: [1] },
      { id: String, count: Number, list: Array },
    ],
    [new Date(0), new Date(0)],
    [new Map([['a', [1]]]), new Map([['a', [1]]])],
    [Object.assign(new Error('late'), { items: [1] }), { message: 'late', items: [1] }],
  ])
    t.ok(matches(found, pattern), JSON.stringify(found))
})
