/** A real local chain for one test: fresh, and gone after the test. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { type Anvil, type AnvilOptions, startAnvil } from '../../src/sandbox/anvil.ts'
import { freePort } from '../../src/sandbox/ports.ts'

export type TestChainOptions = Partial<Omit<AnvilOptions, 'directory'>>

/** Starts anvil on a free port; the chain id is the sandbox's ethereum unless the test names another. */
export async function withAnvil(t: Test, options: TestChainOptions = {}): Promise<Anvil> {
  const directory = await mkdtemp(join(tmpdir(), 'bursar-anvil-'))
  const anvil = await startAnvil({ chainId: 1000001, port: await freePort(), ...options, directory })
  t.after(async () => {
    await anvil.stop()
    await rm(directory, { recursive: true, force: true })
  })
  return anvil
}
