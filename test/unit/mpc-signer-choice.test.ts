import t from 'tap'
import { Unavailable } from '../../src/core/errors.ts'
import { createSignerChoice } from '../../src/keys/mpc/signer-choice.ts'

const SESSIONS = 50

function keyOf(
  threshold: number,
  count: number,
  banned: readonly number[] = [],
  apart: readonly (readonly [number, number])[] = [],
) {
  return { threshold, parties: Array.from({ length: count }, (_, index) => index + 1), banned, apart }
}

function choiceOf(reachable: readonly number[]) {
  let now = 0
  const choice = createSignerChoice({ reachable: () => reachable, now: () => now })
  return {
    ...choice,
    pass(ms: number) {
      now += ms
    },
  }
}

t.test('parties take turns while none fails', (t) => {
  const { choose, clear } = choiceOf([1, 2, 3])
  const asked = Array.from({ length: 6 }, () => {
    const signers = choose(keyOf(2, 3))
    clear(signers)
    return signers
  })
  for (const party of [1, 2, 3]) t.equal(asked.filter((signers) => signers.includes(party)).length, 4)
  t.end()
})

t.test(
  'a hanging party delays no more sessions than the threshold, although it accuses those that wait for it',
  (t) => {
    for (let count = 2; count <= 7; count += 1) {
      for (let threshold = 2; threshold < count; threshold += 1) {
        for (let hanging = 1; hanging <= count; hanging += 1) {
          const key = keyOf(threshold, count)
          const { choose, strike, clear } = choiceOf(key.parties)
          let met = 0
          for (let session = 0; session < SESSIONS; session += 1) {
            const signers = choose(key)
            if (!signers.includes(hanging)) clear(signers)
            else {
              met += 1
              strike(new Set(signers))
            }
          }
          t.ok(met <= threshold, `${threshold} of ${count}: party ${hanging} met ${met} sessions`)
        }
      }
    }
    t.end()
  },
)

t.test('a party that failed is chosen again when no other is left, when it signed, and after a while', (t) => {
  const struck = choiceOf([1, 2, 3])
  struck.strike(new Set([1]))
  for (let session = 0; session < 6; session += 1) t.notOk(struck.choose(keyOf(2, 3)).includes(1))
  t.ok(struck.choose(keyOf(2, 3, [2])).includes(1), 'party 1 is chosen while party 2 is banned')
  struck.clear([1])
  t.ok(
    [1, 2, 3].some(() => struck.choose(keyOf(2, 3)).includes(1)),
    'party 1 is chosen again after it signed',
  )
  struck.strike(new Set([1]))
  struck.pass(30_000)
  t.ok(
    [1, 2, 3].some(() => struck.choose(keyOf(2, 3)).includes(1)),
    'party 1 is chosen again after 30 s',
  )
  t.end()
})

t.test('parties that are kept apart are never chosen together, while others are left', (t) => {
  const { choose } = choiceOf([1, 2, 3, 4])
  const asked = Array.from({ length: 12 }, () => choose(keyOf(2, 3, [], [[1, 2]])))
  t.notOk(asked.some((signers) => signers.includes(1) && signers.includes(2)))
  for (const party of [1, 2, 3]) t.ok(asked.some((signers) => signers.includes(party)))
  const accusedByOne = keyOf(
    2,
    3,
    [],
    [
      [1, 2],
      [1, 3],
    ],
  )
  t.strictSame(choose(accusedByOne).toSorted(), [2, 3], 'the party that accuses all others is not chosen')
  t.strictSame(choose(keyOf(3, 4, [], [[4, 2]])).length, 3)
  t.throws(() => choose(keyOf(2, 2, [], [[1, 2]])), { code: 'mpc_parties_apart', message: /party-1 and party-2/ })
  t.end()
})

t.test('with too few connected parties none is chosen, and the missing ones are named', (t) => {
  t.throws(() => choiceOf([2]).choose(keyOf(2, 3)), new Unavailable('mpc_parties_unavailable', ''))
  t.throws(() => choiceOf([1, 2]).choose(keyOf(2, 3, [2])), { message: /party-2, party-3/ })
  t.end()
})
