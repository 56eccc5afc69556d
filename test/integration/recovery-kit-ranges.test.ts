/** The kit of hd wallets whose indexes are of several ranges, as after restores of the database. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Transaction } from 'ethers'
import t from 'tap'
import { sweep, withService } from '../support/kit-service.ts'

t.test('a kit restores the wallets of every range of indexes, listed or created later', async (t) => {
  const service = await withService(t)
  const listed = [await service.wallet()]
  service.restored.times = 1
  listed.push(await service.wallet())
  t.equal((await service.backUp()).code, 0)
  const manifest = JSON.parse(await readFile(join(service.kit, 'kit.json'), 'utf8'))
  t.strictSame(
    manifest.wallets.map(({ index }: { index: number }) => index),
    [0, 2 ** 30],
  )
  const later = [await service.wallet()]
  service.restored.times = 2
  later.push(await service.wallet())
  t.match(await service.verify(), { code: 0, out: /2 of 2 wallets can be restored/ })
  for (const { address } of [...listed, ...later]) {
    const swept = await sweep(service, address, 1, '--value', '1', '--json')
    t.equal(swept.code, 0, swept.err)
    t.match(Transaction.from(JSON.parse(swept.out).raw_transaction), { from: address })
  }
})

t.end()
