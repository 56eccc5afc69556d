/** Sends events to webhooks. Run any number: each webhook is independent. */
import { withRender } from '../src/compose/catalogue.ts'
import { runProcess } from '../src/compose/run-process.ts'
import { startWebhookSender } from '../src/webhooks/run-sender.ts'

await runProcess(
  'webhook-sender',
  async (kernel, signal) => startWebhookSender(await withRender(kernel), signal),
  process.env,
)
