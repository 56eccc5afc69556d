// Checks scripts/house.mjs: arrows upwards are reported, the picture shows them, and only code names a capability.

import t from 'tap'
import {
  arrowsOf,
  createHouse,
  isNamedIn,
  ACTIONS as NAMED_BY_POLICIES,
  pictureOf,
  withPicture,
} from '../../scripts/house.mjs'
import { ACTIONS } from '../../src/core/policy.ts'
import { matchExactly } from '../support/match-exactly.ts'

const imports = (source: string, ...resolved: string[]) => ({
  source,
  dependencies: resolved.map((path) => ({ resolved: path })),
})
const DOWN = [
  imports('workers/signer.ts', 'src/compose/signer.ts', 'node_modules/pg/lib/index.js'),
  imports('src/compose/signer.ts', 'src/swaps/quote.ts', 'src/core/ids.ts', 'src/compose/kernel.ts'),
  imports('src/swaps/quote.ts', 'src/core/ids.ts', 'src/core/money.ts', 'src/nft/state.ts'),
]
const UP = imports('src/jobs/work.ts', 'src/swaps/quote.ts', 'src/declarations.ts')

t.test('an arrow upwards is an import of a higher layer, once for each pair of rooms', (t) => {
  const arrows = arrowsOf([...DOWN, UP])
  matchExactly(t, arrows, [
    { from: 'compose', to: 'core' },
    { from: 'compose', to: 'swaps' },
    { from: 'jobs', to: 'declarations.ts' },
    { from: 'jobs', to: 'swaps' },
    { from: 'swaps', to: 'core' },
    { from: 'swaps', to: 'nft' },
    { from: 'workers', to: 'compose' },
  ])
  t.strictSame(createHouse(arrowsOf(DOWN)).upwards, [])
  matchExactly(t, createHouse(arrows).upwards, [
    { from: 'jobs', to: 'declarations.ts' },
    { from: 'jobs', to: 'swaps' },
  ])
  t.end()
})

t.test('a new folder is a capability, and a new file beside the folders needs a layer', (t) => {
  const { layers } = createHouse(arrowsOf([...DOWN, imports('src/notes/state.ts', 'src/core/ids.ts')]))
  t.strictSame(layers.find(({ name }) => name === 'capabilities')?.rooms, ['nft', 'notes', 'swaps'])
  t.throws(() => createHouse(arrowsOf([imports('src/lone.ts', 'src/core/ids.ts')])), /lone\.ts/)
  t.end()
})

t.test('the picture has each arrow upwards, and arrows of layers that no way through others replaces', (t) => {
  const picture = pictureOf(arrowsOf([...DOWN, UP]))
  t.strictSame(
    picture.split('\n').filter((line) => line.includes('->')),
    [
      '  floor7 --> floor1',
      '  floor9 --> floor7',
      '  floor10 --> floor9',
      '  jobs -. upwards .-> declarations_ts',
      '  jobs -. upwards .-> swaps',
    ],
  )
  const page = 'a\n<!-- house: made by npm run house -->\nold\n<!-- end of house -->\nb'
  const written = withPicture(page, picture)
  t.ok(written.includes(picture) && !written.includes('old'))
  t.equal(withPicture(written, picture), written)
  t.throws(() => withPicture('no marks', picture), /no markers/)
  t.end()
})

t.test('identifiers, strings and imports name a capability, comments do not', (t) => {
  const says = (text: string, path = 'src/chain/one.ts') => isNamedIn(path, text, /swap/i)
  t.ok(says('const lastSwap = 1'))
  t.ok(says("import { quote } from '../swaps/quote.ts'"))
  t.ok(says('const sql = `SELECT 1 FROM $' + '{table} JOIN swaps`'))
  t.ok(says('const found = /swap/.test(text)'))
  t.notOk(says('/** A swap. */\nconst one = 1 // swap'))
  t.notOk(says("const one = ['transfer', 'swap']"), 'what policies say that a request does')
  t.ok(says("const one = 'a swap'"))
  t.strictSame([...NAMED_BY_POLICIES], [...ACTIONS])
  t.end()
})
