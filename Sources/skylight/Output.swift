import AssetStore
import DataTransfer
import Foundation
import RecordStore
import Records
import Synchronization
import UnixSignals

/// The unbuffered output of a command, so that programs that read it get each line immediately.
struct Output: Sendable {
    /// True for `--json`.
    let isJSON: Bool

    /// Prints a result: its members as JSON, or else its lines.
    /// - Parameter notes: lines on standard error, below the others.
    func say(
        lines: @autoclosure () -> [String], notes: @autoclosure () -> [String] = [],
        _ members: (inout JSONWriter) -> Void
    ) {
        if isJSON { return Self.say(members) }
        for line in lines() { Self.say(line) }
        for note in notes() { Self.note(note) }
    }

    /// Prints a result: its members as JSON, or else one line.
    func say(
        _ line: @autoclosure () -> String, notes: @autoclosure () -> [String] = [],
        _ members: (inout JSONWriter) -> Void
    ) {
        say(lines: [line()], notes: notes(), members)
    }

    /// Prints a list: as JSON in a member, or else as a table.
    /// - Parameter none: the line for an empty list.
    func say<Row>(
        list name: StaticString, _ rows: [Row], none: @autoclosure () -> String, _ columns: [Column<Row>],
        _ value: (inout JSONWriter, Row) -> Void
    ) {
        say(lines: rows.isEmpty ? [none()] : Self.lines(table: rows, columns)) {
            $0.member(name, values: rows, value)
        }
    }

    /// A column of a table.
    struct Column<Row> {
        let title: String
        let cell: (Row) -> String

        init(_ title: String, _ cell: @escaping (Row) -> String) {
            self.title = title
            self.cell = cell
        }
    }

    /// Prints a line of the result on standard output.
    static func say(_ line: String) {
        // If the pipe is closed, there is no reader to report the error to.
        try? FileHandle.standardOutput.write(contentsOf: Data((line + "\n").utf8))
    }

    /// Prints the result as JSON on standard output.
    static func say(_ members: (inout JSONWriter) -> Void) {
        var writer = JSONWriter()
        writer.object(members)
        say(String(decoding: writer.bytes, as: UTF8.self))
    }

    /// Prints a note on standard error.
    static func note(_ line: String) {
        write(line + "\n")
    }

    /// Prints text without a line end on standard error.
    static func write(_ text: String) {
        // There is no other place to report the error.
        try? FileHandle.standardError.write(contentsOf: Data(text.utf8))
    }

    /// True if standard error is a terminal.
    static var isWatched: Bool { isatty(STDERR_FILENO) == 1 }

    /// A number with grouped thousands.
    static func grouped(_ number: Int) -> String {
        var digits = String(number.magnitude)
        var groups: [String] = []
        while digits.count > 3 {
            groups.insert(String(digits.suffix(3)), at: 0)
            digits.removeLast(3)
        }
        return (number < 0 ? "-" : "") + ([digits] + groups).joined(separator: ",")
    }

    /// `1 file`, `12 files`.
    static func files(_ count: Int) -> String {
        "\(grouped(count)) file\(count == 1 ? "" : "s")"
    }

    /// A time in UTC, to the minute.
    static func moment(_ moment: Timestamp) -> String {
        let time = UTCTime(milliseconds: moment.milliseconds)
        return "\(time.dateText) \(time.timeText.prefix(5))"
    }

    /// A time in UTC, or a text for no time.
    static func moment(_ moment: Timestamp?, none: String = "–") -> String {
        moment.map { self.moment($0) } ?? none
    }

    /// The lines of a table with a header row and aligned columns.
    static func lines<Row>(table rows: [Row], _ columns: [Column<Row>]) -> [String] {
        var widths: [Int] = []
        return lines(table: rows, columns, below: &widths)
    }

    /// The lines of the next page of a table. The first page has the header row.
    /// - Parameter widths: the widths of the columns so far; empty before the first page.
    static func lines<Row>(table rows: [Row], _ columns: [Column<Row>], below widths: inout [Int]) -> [String] {
        let header = widths.isEmpty ? [columns.map(\.title)] : []
        let rows = header + rows.map { row in columns.map { $0.cell(row) } }
        if widths.isEmpty { widths = Array(repeating: 0, count: columns.count) }
        for row in rows {
            for (index, cell) in row.enumerated() { widths[index] = max(widths[index], cell.count) }
        }
        return rows.map { row in
            let cells = row.enumerated().map { index, cell in
                index == row.count - 1 ? cell : cell + String(repeating: " ", count: widths[index] - cell.count)
            }
            return cells.joined(separator: "  ")
        }
    }
}

// MARK: - JSON

extension JSONWriter {
    /// Writes a member with any value.
    mutating func member(_ name: StaticString, _ value: (inout JSONWriter) -> Void) {
        self.name(name)
        value(&self)
    }

    /// Writes a member with an object of counts, sorted by name.
    mutating func member(_ name: StaticString, counts: [Name: Int]) {
        self.name(name)
        object { writer in
            for (name, count) in counts.sorted(by: { $0.key < $1.key }) { writer.member(name, Int64(count)) }
        }
    }
}

// MARK: - Progress

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
        show(
            verb, fraction: fraction,
            "\(Output.grouped(count)) \(noun)" + (bytes == 0 ? "" : ", \(ByteCount(bytes)) of assets"))
    }

    /// - Parameter total: the final count; `nil` if it is unknown.
    func show(_ verb: String, count: Int, of total: Int?, _ noun: String, andBytes bytes: Int64 = 0) {
        let fraction = total.map { $0 == 0 ? 1 : Double(count) / Double($0) }
        show(verb, fraction: fraction, count: count, noun, andBytes: bytes)
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
        case .indexing: show("Indexing", fraction: progress.fraction, count: progress.count, "records")
        }
    }

    func show(_ progress: MirrorProgress) {
        var amount =
            "\(Output.grouped(progress.records)) records, \(Output.grouped(Int(progress.rate())))/s, \(Output.grouped(progress.requests)) requests"
        if progress.fileBytes > 0 { amount += ", \(ByteCount(progress.fileBytes)) of assets" }
        if let end = progress.pausedUntil {
            let moment = Timestamp(
                milliseconds: Timestamp.now().milliseconds + Int64(max(0, (end - .now) / .milliseconds(1))))
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
        show(
            "Indexing", fraction: total == 0 ? nil : Double(total - rest) / Double(total),
            "\(build.recordType): \(Self.words(for: build.subject))")
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

// MARK: - Files

/// The target of a large output: standard output, a device, a pipe, or a file that appears atomically.
struct OutputFile: Sendable {
    private let descriptor: Int32
    /// The name in error messages.
    private let name: String
    /// The temporary and the final path; `nil` for direct output.
    private let paths: (temporary: String, final: String)?

    static let standardOutput = OutputFile(descriptor: STDOUT_FILENO, name: "standard output", paths: nil)

    private init(descriptor: Int32, name: String, paths: (temporary: String, final: String)?) {
        self.descriptor = descriptor
        self.name = name
        self.paths = paths
    }

    /// Creates a temporary file beside the target, or opens a target that is not a regular file.
    ///
    /// A symbolic link is kept, and its target is replaced. A replaced file keeps its permissions.
    /// - Throws: `CommandFailure` if the file can't be created.
    init(_ path: String) throws {
        if let number = Self.descriptor(named: path) {
            let copy = dup(number)
            guard copy >= 0 else { throw Self.failure(path) }
            self.init(descriptor: copy, name: path, paths: nil)
            return
        }
        let target = Self.resolved(path)
        // The file may not exist.
        let old = try? FileManager.default.attributesOfItem(atPath: target)
        let type = old?[.type] as? FileAttributeType
        if type == .typeDirectory {
            throw CommandFailure(.cannotWrite, "'\(path)' is a folder", remedy: "Give --output the name of a file")
        }
        if let type, type != .typeRegular {
            let descriptor = open(path, O_WRONLY | O_CLOEXEC)
            guard descriptor >= 0 else { throw Self.failure(path) }
            self.init(descriptor: descriptor, name: path, paths: nil)
            return
        }
        // The permissions of the folder would permit the replacement of a read-only file.
        if old != nil, access(target, W_OK) != 0 { throw Self.failure(path) }
        let temporary = "\(target).\(UUID().uuidString.prefix(8)).part"
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
        guard descriptor >= 0 else { throw Self.failure(path) }
        if let mode = (old?[.posixPermissions] as? NSNumber)?.uint32Value { fchmod(descriptor, mode_t(mode & 0o777)) }
        self.init(descriptor: descriptor, name: path, paths: (temporary, target))
    }

    /// The descriptor for a path such as `/dev/stdout`. Opening such a path again may truncate the file or fail.
    private static func descriptor(named path: String) -> Int32? {
        switch path {
        case "/dev/stdout": STDOUT_FILENO
        case "/dev/stderr": STDERR_FILENO
        default:
            ["/dev/fd/", "/proc/self/fd/"].first { path.hasPrefix($0) }.flatMap { Int32(path.dropFirst($0.count)) }
        }
    }

    /// The final target of a symbolic link, which may not exist.
    private static func resolved(_ path: String) -> String {
        var path = path
        // The system's own limit of links. Opening the last one reports the error.
        for _ in 0..<40 {
            // The path is not a symbolic link.
            guard let target = try? FileManager.default.destinationOfSymbolicLink(atPath: path) else { break }
            path =
                target.hasPrefix("/")
                ? target
                : (path as NSString).deletingLastPathComponent.appending(path.contains("/") ? "/" : "").appending(
                    target)
        }
        return path
    }

    /// - Throws: ``BrokenPipe``, or `CommandFailure` with the system's message.
    func write(_ bytes: [UInt8]) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if errno == EPIPE, paths == nil {
                throw BrokenPipe()
            } else if errno != EINTR {
                throw Self.failure(name)
            }
        }
    }

    /// Syncs the file and moves it to its final name. Removes it on failure. Call either this or ``abandon()``, once.
    func finish() throws {
        guard let paths else {
            if descriptor != STDOUT_FILENO, close(descriptor) != 0 { throw Self.failure(name) }
            return
        }
        do {
            let isWritten = fsync(descriptor) == 0
            let failure = Self.failure(name)
            let isClosed = close(descriptor) == 0
            guard isWritten else { throw failure }
            guard isClosed, rename(paths.temporary, paths.final) == 0 else { throw Self.failure(name) }
        } catch {
            unlink(paths.temporary)
            throw error
        }
    }

    /// Removes the temporary file.
    func abandon() {
        if descriptor != STDOUT_FILENO { close(descriptor) }
        if let paths { unlink(paths.temporary) }
    }

    /// Removes the temporary file when a signal ends the process, and exits with
    /// the shell's status for that signal. Works until the task is cancelled.
    /// - Parameter cleanUp: additional cleanup.
    func abandonedAtSignals(_ cleanUp: @escaping @Sendable () -> Void = {}) -> Task<Void, Never> {
        Task {
            for await asked in await UnixSignalsSequence(trapping: .sigint, .sigterm) {
                // The descriptor stays open, because another thread is writing to it.
                if let paths { unlink(paths.temporary) }
                cleanUp()
                _exit(128 + asked.rawValue)
            }
        }
    }

    private static func failure(_ path: String) -> CommandFailure {
        CommandFailure(.cannotWrite, "'\(path)' can't be written: \(String(cString: strerror(errno)))")
    }
}

/// The reader of this process's output has closed the pipe.
struct BrokenPipe: Error {}
