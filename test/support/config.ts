/** A production environment, the settings of a signer, and the problems of an environment. */
import type { Test } from 'tap'
import { loadConfig } from '../../src/compose/load-config.ts'
import { type Config, ConfigError, type Environ } from '../../src/config.ts'

export const PRODUCTION = {
  DATABASE_URL: 'postgres://bursar:hunter2@db:5432/bursar',
  ETHEREUM_RPC_URLS: 'https://one.example/v3/secret1, https://two.example/v3/secret2',
}
/** The key of tags of every service that a test starts. */
export const TAG_KEY = Buffer.alloc(32, 3).toString('base64')
export const KEY = Buffer.alloc(32, 7).toString('base64')

/**
 * The settings of a signer that a test composes in its own process, and of processes beside it: a keystore of its own, no
 * pool of mpc keys, a short shutdown.
 *
 * @param env more settings, or others in place of these
 */
export function signerConfig(t: Test, url: string, env: Environ = {}): Config {
  return loadConfig({
    DATABASE_URL: url,
    LOG_LEVEL: 'silent',
    DATABASE_POOL_SIZE: '4',
    TRANSACTION_TAG_KEY: TAG_KEY,
    SHUTDOWN_GRACE_MS: '2000',
    DATA_DIR: t.testdir(),
    MPC_POOL_SIZE: '0',
    ...env,
  })
}

/** Two chains of mainnet, at which no node answers. @param env more settings, or others in place of these */
export function apiConfig(url: string, env: Environ = {}): Config {
  return loadConfig({
    DATABASE_URL: url,
    LOG_LEVEL: 'silent',
    ETHEREUM_RPC_URLS: 'http://127.0.0.1:1',
    ETHEREUM_CHAIN_ID: '1000001',
    ETHEREUM_CONFIRMATIONS: '2',
    POLYGON_RPC_URLS: 'http://127.0.0.1:1',
    POLYGON_CHAIN_ID: '1000137',
    ...env,
  })
}

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
