/** The settings of every capability. A new one is a line here. */
import { auditSettings } from '../audit/settings.ts'
import { settingRows } from '../config/settings.ts'
import { type Config, type DeclaredConfig, type Environ, readConfig } from '../config.ts'
import { CATALOGUE } from '../declarations.ts'
import { mpcSettings } from '../mpc-wallets/settings.ts'
import { nftSettings } from '../nft/settings.ts'
import { quotaSettings } from '../quotas/settings.ts'
import { exportSettings } from '../recovery/settings.ts'
import { signingSettings } from '../signatures/settings.ts'
import { swapSettings } from '../swaps/settings.ts'
import { webhookSettings } from '../webhooks/settings.ts'

/** In the order in which the table of settings lists them. */
const DECLARED: DeclaredConfig = {
  ...quotaSettings(CATALOGUE.quotas),
  ...mpcSettings,
  ...exportSettings,
  ...signingSettings,
  ...auditSettings,
  ...swapSettings,
  ...webhookSettings,
  ...nftSettings,
}

/** All settings in display order; those of a chain once, with `<NET>` in the name. */
export const SETTINGS = settingRows(Object.values(DECLARED))

/** @throws ConfigError with a line for each bad setting */
export function loadConfig(env: Environ): Config {
  return readConfig(env, DECLARED)
}
