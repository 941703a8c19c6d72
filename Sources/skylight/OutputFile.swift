import Foundation
import UnixSignals

/// Where a command writes much: standard output, a device or a pipe, or a file that is there whole or not at all.
struct OutputFile: Sendable {
    private let descriptor: Int32
    /// What it is called in errors.
    private let name: String
    /// Where the file is written and where it is to be; `nil` for what is written to directly.
    private let paths: (temporary: String, final: String)?

    static let standardOutput = OutputFile(descriptor: STDOUT_FILENO, name: "standard output", paths: nil)

    private init(descriptor: Int32, name: String, paths: (temporary: String, final: String)?) {
        self.descriptor = descriptor
        self.name = name
        self.paths = paths
    }

    /// Begins a file under a name of its own beside its place, or opens what is no regular file.
    ///
    /// A symbolic link stays one and its target is replaced; a file that was there keeps its permissions.
    /// - Throws: `CommandFailure` when it can't be made there.
    init(_ path: String) throws {
        if let number = Self.descriptor(named: path) {
            let copy = dup(number)
            guard copy >= 0 else { throw Self.failure(path) }
            self.init(descriptor: copy, name: path, paths: nil)
            return
        }
        let target = Self.resolved(path)
        // There may be none.
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
        // The folder's permissions would let even a file be replaced that may not be written to.
        if old != nil, access(target, W_OK) != 0 { throw Self.failure(path) }
        let temporary = "\(target).\(UUID().uuidString.prefix(8)).part"
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
        guard descriptor >= 0 else { throw Self.failure(path) }
        if let mode = (old?[.posixPermissions] as? NSNumber)?.uint32Value { fchmod(descriptor, mode_t(mode & 0o777)) }
        self.init(descriptor: descriptor, name: path, paths: (temporary, target))
    }

    /// The descriptor that a path such as `/dev/stdout` stands for. Opening such a path again may begin a file anew or fail.
    private static func descriptor(named path: String) -> Int32? {
        switch path {
        case "/dev/stdout": STDOUT_FILENO
        case "/dev/stderr": STDERR_FILENO
        default: ["/dev/fd/", "/proc/self/fd/"].first { path.hasPrefix($0) }.flatMap { Int32(path.dropFirst($0.count)) }
        }
    }

    /// Where a symbolic link leads in the end, whether or not a file is there.
    private static func resolved(_ path: String) -> String {
        var path = path
        // As many as the system follows itself; opening the last one then says what is wrong.
        for _ in 0..<40 {
            // What is no link has no destination.
            guard let target = try? FileManager.default.destinationOfSymbolicLink(atPath: path) else { break }
            path = target.hasPrefix("/") ? target : (path as NSString).deletingLastPathComponent.appending(path.contains("/") ? "/" : "").appending(target)
        }
        return path
    }

    /// - Throws: ``BrokenPipe``, or `CommandFailure` with what the system says.
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

    /// Puts the file in its place, once all of it is on disk. When that fails nothing is left behind. Either this or ``abandon()`` is called,
    /// once.
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

    /// Leaves nothing behind.
    func abandon() {
        if descriptor != STDOUT_FILENO { close(descriptor) }
        if let paths { unlink(paths.temporary) }
    }

    /// Leaves nothing behind when the process is asked to end, which it then does, with the status that shells give such an end. Until the
    /// task is cancelled.
    /// - Parameter cleanUp: removes what else would be left.
    func abandonedAtSignals(_ cleanUp: @escaping @Sendable () -> Void = {}) -> Task<Void, Never> {
        Task {
            for await asked in await UnixSignalsSequence(trapping: .sigint, .sigterm) {
                // It stays open, since it is being written to.
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
