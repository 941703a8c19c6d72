import AssetStore
import ServiceLifecycle

/// Removes the files that nothing uses any more, now and then for as long as the server runs.
struct AssetSweeping: Service {
    let assets: AssetStores

    func run() async throws {
        await cancelWhenGracefulShutdown { [assets] in
            await assets.sweepRegularly()
            // A service that returns would end the server.
            // Sleeping ends with the task.
            while !Task.isCancelled { try? await Task.sleep(for: .seconds(86_400)) }
        }
    }
}
