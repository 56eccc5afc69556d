import t from 'tap'
import { agreedCount } from '../../src/chain/several-nodes.ts'

const never = new Promise<number>(() => undefined)
const says = (count: number) => Promise.resolve(count)
const fails = () => Promise.reject(new Error('down'))

t.test('one node of three cannot raise the number, in whatever order they answer', async (t) => {
  for (const answers of [
    [says(1_000), says(5), says(5)],
    [says(5), says(1_000), says(5)],
    [says(5), says(5), says(1_000)],
  ])
    t.equal(await agreedCount(answers), 5)
})

t.test('one that is silent or down delays nothing', async (t) => {
  t.equal(await agreedCount([never, says(5), says(6)]), 5)
  t.equal(await agreedCount([fails(), says(5), says(6)]), 5)
})

t.test('with fewer than half of the nodes the lowest answer counts', async (t) => {
  t.equal(await agreedCount([says(7), fails(), fails()]), 7)
  t.equal(await agreedCount([says(7)]), 7, 'a single node')
})

t.test('without an answer it is not known', async (t) => {
  await t.rejects(agreedCount([fails(), fails()]), { message: 'down' })
  await t.rejects(agreedCount([]), { message: 'no node was asked' })
})
