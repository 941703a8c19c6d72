internal import Dispatch

/// Where a work runs that reads files and computes for long: on threads that answer requests it would keep others waiting.
final class WorkThread: TaskExecutor {
    private let queue = DispatchQueue(label: "skylight.console.work", qos: .utility)

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
