import CMalloc
import HTTPServing
import ServiceLifecycle

/// Gives the system memory back soon after a burst of large requests and answers.
struct MemoryTrimming: Service {
    private static let interval = Duration.seconds(2)

    let memory: MemoryBudget

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while (try? await Task.sleep(for: Self.interval)) != nil {
                guard memory.isWorthTrimming() else { continue }
                // It takes some milliseconds of a thread.
                await Task.detached(executorPreference: WorkPool.lengthy, priority: .low) { CMalloc_trim() }.value
            }
        }
    }
}
