import AssetStore
import ServiceLifecycle

/// Removes unused files regularly while the server runs.
struct AssetSweeping: Service {
    let assets: AssetStores

    func run() async throws {
        await cancelWhenGracefulShutdown { [assets] in
            await assets.sweepRegularly()
            // If a service returned, the server would end.
            // Cancellation ends the sleep.
            while !Task.isCancelled { try? await Task.sleep(for: .seconds(86_400)) }
        }
    }
}
