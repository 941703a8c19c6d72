import AssetStore
import DataTransfer
import JSON
import Mirroring
import RecordStore
import Records
import Synchronization

/// Shows progress on standard error, if it is a terminal and the work takes longer than a second.
final class ProgressBar: Sendable {
    private struct State {
        var isShown = false
        var lastDrawn = ContinuousClock.now
    }

    private static let width = 30

    private let start = ContinuousClock.now
    private let isWatched = Output.isWatched
    private let state = Mutex(State())

    /// - Parameters:
    ///   - verb: the current activity, such as `Saving`.
    ///   - fraction: the completed fraction, from 0 to 1; `nil` if it is unknown.
    ///   - noun: the counted items.
    ///   - bytes: the size of the assets in bytes; not shown if it is 0.
    func show(_ verb: String, fraction: Double?, count: Int, _ noun: String, andBytes bytes: Int64 = 0) {
        show(verb, fraction: fraction, "\(Output.grouped(count)) \(noun)" + (bytes == 0 ? "" : ", \(ByteCount(bytes)) of assets"))
    }

    /// - Parameter amount: the completed amount, in words.
    private func show(_ verb: String, fraction: Double?, _ amount: @autoclosure () -> String) {
        let now = ContinuousClock.now
        guard isWatched, now - start > .seconds(1) else { return }
        state.withLock { state in
            if state.isShown, now - state.lastDrawn < .milliseconds(80) { return }
            state.isShown = true
            state.lastDrawn = now
            Output.write("\r\u{1B}[K" + Self.line(verb, fraction, amount()))
        }
    }

    func show(_ progress: ImportProgress) {
        switch progress.phase {
        case .reading: show("Reading", fraction: progress.fraction, count: progress.count, "rows")
        case .checking: show("Checking", fraction: progress.fraction, count: progress.count, "rows")
        case .saving: show("Saving", fraction: progress.fraction, count: progress.count, "records")
        }
    }

    func show(_ progress: MirrorProgress) {
        var amount = "\(Output.grouped(progress.records)) records, \(Output.grouped(Int(progress.rate())))/s, \(Output.grouped(progress.requests)) requests"
        if progress.fileBytes > 0 { amount += ", \(ByteCount(progress.fileBytes)) of assets" }
        if let end = progress.pausedUntil {
            let moment = Timestamp(milliseconds: Timestamp.now().milliseconds + Int64(max(0, (end - .now) / .milliseconds(1))))
            amount += "; waiting for the origin until \(Output.moment(moment)) UTC"
        }
        show(progress.stage == .sending ? "Sending" : "Mirroring", fraction: nil, amount)
    }

    func show(_ findings: AssetVerification) {
        // Each file counts as one more byte, because many small files take longer than their sizes suggest.
        let done = Double(findings.bytesDone) + Double(findings.filesDone)
        let total = Double(findings.bytesTotal) + Double(findings.filesTotal)
        show(
            "Verifying", fraction: total == 0 ? 1 : done / total,
            "\(ByteCount(findings.bytesDone)) of \(ByteCount(findings.bytesTotal)), \(Output.grouped(findings.filesDone)) of "
                + Output.files(findings.filesTotal))
    }

    /// - Parameter total: the entries of all builds since the start. Completed builds are no longer in the list.
    func show(_ builds: [IndexBuildProgress], of total: Int) {
        guard let build = builds.first(where: { $0.done > 0 }) ?? builds.first else { return }
        let rest = builds.map { max(0, $0.total.subtractingSaturated($0.done)) }.saturatedSum
        show("Indexing", fraction: total == 0 ? nil : Double(total - rest) / Double(total), "\(build.recordType): \(Self.words(for: build.subject))")
    }

    private static func words(for subject: IndexBuildProgress.Subject) -> String {
        switch subject {
        case .field(let key, let indexes): "\(key.schemaName) \(indexes.names.joined(separator: " "))"
        case .composite(let index): "\(index.filter.schemaName) and \(index.sort.schemaName)"
        }
    }

    /// Clears the line.
    func finish() {
        state.withLock { state in
            if state.isShown { Output.write("\r\u{1B}[K") }
            state.isShown = false
        }
    }

    private static func line(_ verb: String, _ fraction: Double?, _ amount: String) -> String {
        let label = verb + String(repeating: " ", count: max(1, 10 - verb.count))
        guard let fraction else { return label + amount }
        let shown = min(1, max(0, fraction))
        let filled = Int((shown * Double(width)).rounded())
        let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: width - filled)
        return "\(label)\(bar) \(Int(shown * 100)) %  \(amount)"
    }
}
