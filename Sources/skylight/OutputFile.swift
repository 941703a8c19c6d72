import Foundation
import UnixSignals

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
        default: ["/dev/fd/", "/proc/self/fd/"].first { path.hasPrefix($0) }.flatMap { Int32(path.dropFirst($0.count)) }
        }
    }

    /// The final target of a symbolic link, which may not exist.
    private static func resolved(_ path: String) -> String {
        var path = path
        // The system's own limit of links. Opening the last one reports the error.
        for _ in 0..<40 {
            // The path is not a symbolic link.
            guard let target = try? FileManager.default.destinationOfSymbolicLink(atPath: path) else { break }
            path = target.hasPrefix("/") ? target : (path as NSString).deletingLastPathComponent.appending(path.contains("/") ? "/" : "").appending(target)
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
