/** The rules of the sandbox's chains. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { createChainService } from '../../src/sandbox/chain-service.ts'
import { callRpc } from '../../src/sandbox/rpc.ts'

t.test('a chain has the rules of the setting, and the newest of its node without one', async (t) => {
  const names: string[] = []
  for (const hardfork of ['cancun', null]) {
    const directory = await mkdtemp(join(tmpdir(), 'bursar-hardfork-'))
    t.after(() => rm(directory, { recursive: true, force: true }))
    const setUp = { setUpChain: () => Promise.resolve({} as never), fundFaucet: async () => undefined }
    const chain = await createChainService({ network: 'ethereum', chainId: 1000001, directory, hardfork, setUp })
    const running = await chain.start()
    const { hardFork } = (await callRpc(chain.url(), 'anvil_nodeInfo')) as { hardFork: string }
    names.push(hardFork.toLowerCase())
    await running.stop()
  }
  t.equal(names[0], 'cancun')
  t.not(names[1], 'cancun')
  t.comment(names.join(', '))
})
