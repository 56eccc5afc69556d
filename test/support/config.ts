/** A production environment, and the problems of an environment. */
import { ConfigError, type Environ, loadConfig } from '../../src/config.ts'

export const PRODUCTION = {
  DATABASE_URL: 'postgres://bursar:hunter2@db:5432/bursar',
  ETHEREUM_RPC_URLS: 'https://one.example/v3/secret1, https://two.example/v3/secret2',
}
/** The key of tags of every service that a test starts. */
export const TAG_KEY = Buffer.alloc(32, 3).toString('base64')
export const KEY = Buffer.alloc(32, 7).toString('base64')

/** The error lines of a start with these settings; none when it would succeed. */
export function problemsOf(env: Environ): readonly string[] {
  try {
    loadConfig(env)
    return []
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
}
