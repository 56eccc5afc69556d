/** The commands of policies. */
import { readFile } from 'node:fs/promises'
import { createAssetBooks } from '../assets/asset-books.ts'
import { BadInput, type CliCommand } from '../cli/command.ts'
import { MAX_RULES_BYTES } from '../core/policy.ts'
import type { Owner } from '../core/tenants.ts'
import { createValidatorCompiler } from '../http/validation.ts'
import { policiesCommand } from '../policies/list-command.ts'
import { readSentPolicy } from '../policies/read-policy.ts'
import { policyBody } from '../policies/schemas.ts'
import type { SentPolicy } from '../policies/sent-policy.ts'
import { policyTestCommand } from '../policies/test-command.ts'
import { PAST } from './capabilities.ts'
import { assetOfOwner } from './policy-assets.ts'
import { withKernel } from './run-command.ts'

/** Ten thousand addresses, and room for spaces between them. */
const MOST_BYTES = 1_000_000 + MAX_RULES_BYTES

export function policyCommands(env: NodeJS.ProcessEnv): readonly CliCommand[] {
  return [
    policiesCommand((task) => withKernel(env, ({ pool }) => task({ pool }))),
    policyTestCommand((task) =>
      withKernel(env, (kernel) => {
        const ctx = { ...kernel, books: createAssetBooks(kernel.pool) }
        const past = { pool: kernel.pool, source: PAST, chains: kernel.config.chains }
        const read = async (path: string, owner: Owner) =>
          readSentPolicy(await readSent(path), (assetId) => assetOfOwner(ctx, owner, assetId))
        return task({ past, readFile: read })
      }),
    ),
  ]
}

const validate = createValidatorCompiler()({ schema: policyBody, method: 'PUT', url: '/', httpPart: 'body' })

async function readSent(path: string): Promise<SentPolicy> {
  const text = await readFile(path, 'utf8').catch((error: Error) => {
    throw new BadInput(`--file: ${path} cannot be read: ${error.message}`)
  })
  if (Buffer.byteLength(text) > MOST_BYTES) throw new BadInput(`--file: ${path} has more than ${MOST_BYTES} bytes`)
  const sent = parsed(path, text)
  const result = validate(sent) as true | { readonly error?: unknown }
  if (result !== true && result.error !== undefined) throw result.error
  return sent as SentPolicy
}

function parsed(path: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new BadInput(`--file: ${path} is no JSON: ${(error as Error).message}`)
  }
}
