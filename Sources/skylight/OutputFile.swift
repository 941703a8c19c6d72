import Foundation
import UnixSignals

/// Where a command writes much: standard output, or a file that is there whole or not at all.
struct OutputFile: Sendable {
    private let descriptor: Int32
    /// Where the file is written and where it is to be; `nil` for standard output.
    private let paths: (temporary: String, final: String)?

    static let standardOutput = OutputFile(descriptor: STDOUT_FILENO, paths: nil)

    private init(descriptor: Int32, paths: (temporary: String, final: String)?) {
        self.descriptor = descriptor
        self.paths = paths
    }

    /// Begins a file under a name of its own beside its place.
    /// - Throws: `CommandFailure` when it can't be made there.
    init(_ path: String) throws {
        var isFolder: ObjCBool = false
        if FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), isFolder.boolValue {
            throw CommandFailure(.cannotWrite, "'\(path)' is a folder", remedy: "Give --output the name of a file")
        }
        let temporary = "\(path).\(UUID().uuidString.prefix(8)).part"
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
        guard descriptor >= 0 else { throw Self.failure(path) }
        self.init(descriptor: descriptor, paths: (temporary, path))
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
                throw Self.failure(paths?.final ?? "standard output")
            }
        }
    }

    /// Puts the file in its place, once all of it is on disk.
    func finish() throws {
        guard let paths else { return }
        let isWritten = fsync(descriptor) == 0
        let isClosed = close(descriptor) == 0
        guard isWritten, isClosed, rename(paths.temporary, paths.final) == 0 else {
            let failure = Self.failure(paths.final)
            unlink(paths.temporary)
            throw failure
        }
    }

    /// Leaves nothing behind.
    func abandon() {
        guard let paths else { return }
        close(descriptor)
        unlink(paths.temporary)
    }

    /// Leaves nothing behind when the process is asked to end, which it then does, with the status that shells give such an end. Until the
    /// task is cancelled.
    func abandonedAtSignals() -> Task<Void, Never> {
        Task {
            for await asked in await UnixSignalsSequence(trapping: .sigint, .sigterm) {
                // It stays open, since it is being written to.
                if let paths { unlink(paths.temporary) }
                _exit(128 + asked.rawValue)
            }
        }
    }

    private static func failure(_ path: String) -> CommandFailure {
        CommandFailure(.cannotWrite, "'\(path)' can't be written: \(String(cString: strerror(errno)))")
    }
}
