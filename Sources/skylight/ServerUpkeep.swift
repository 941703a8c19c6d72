import AssetStore
import CMalloc
import HTTPServing
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

/// Gives the system memory back soon after a burst of large requests and answers.
struct MemoryTrimming: Service {
    private static let interval = Duration.seconds(2)

    let memory: MemoryBudget

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while (try? await Task.sleep(for: Self.interval)) != nil {
                guard memory.takeTrimming() else { continue }
                // It takes some milliseconds of a thread.
                await Task.detached(executorPreference: WorkPool.lengthy, priority: .low) { CMalloc_trim() }.value
            }
        }
    }
}
