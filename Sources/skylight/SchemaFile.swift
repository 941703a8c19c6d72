import ArgumentParser
import Foundation
import JSON
import Records

/// A file in the schema language.
struct SchemaFile {
    /// The size limit of a schema file, in bytes.
    private static let sizeLimit = 64 << 20

    /// The given path, or a name for standard input.
    let name: String
    let schema: Schema
    let notes: [SchemaTextNote]
    /// The number of further notes.
    private let moreNotes: Int

    /// - Parameter path: the path, or `-` for standard input.
    /// - Throws: `CommandFailure` if the file can't be read, or is not a valid schema. Lists each error with its line.
    init(_ path: String) throws {
        let name = path == "-" ? "standard input" : path
        let text = SchemaText(utf8: try Self.bytes(path, name))
        guard text.errors.isEmpty else { throw Self.failure(text.errors, in: name) }
        self.name = name
        schema = try text.schema()
        notes = text.notes
        moreNotes = text.moreNotes
    }

    /// Prints the notes on standard error.
    func sayNotes() {
        for note in notes { Output.note("Note: \(name):\(note.line):\(note.column): \(note.text)") }
        if moreNotes > 0 { Output.note("… and \(Output.grouped(moreNotes)) more note\(moreNotes == 1 ? "" : "s")") }
    }

    /// Writes the notes and the number of further notes.
    func writeNotes(into writer: inout JSONWriter) {
        writer.name("notes")
        writer.array { writer in
            for note in notes {
                writer.object { writer in
                    writer.member("line", Int64(note.line))
                    writer.member("column", Int64(note.column))
                    writer.member("text", note.text)
                }
            }
        }
        if moreNotes > 0 { writer.member("moreNotes", Int64(moreNotes)) }
    }

    private static func bytes(_ path: String, _ name: String) throws -> [UInt8] {
        let descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw unreadable(name) }
        defer { if path != "-" { close(descriptor) } }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1 << 20)
        while true {
            let count = chunk.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
            if count == 0 { return bytes }
            if count < 0 {
                if errno == EINTR { continue }
                throw unreadable(name)
            }
            bytes += chunk[..<count]
            if bytes.count > sizeLimit { throw CommandFailure(.badData, "'\(name)' is too large for a schema: over \(ByteCount(Int64(sizeLimit)))") }
        }
    }

    private static func unreadable(_ name: String) -> CommandFailure {
        CommandFailure(.noInput, "'\(name)' can't be read: \(String(cString: strerror(errno)))")
    }

    private static func failure(_ errors: [SchemaTextError], in name: String) -> CommandFailure {
        let count = errors.count == 1 ? "1 error" : "\(errors.count) errors" + (errors.count >= SchemaText.errorLimit ? " or more" : "")
        var failure = CommandFailure(.badData, "\(name) is not a valid schema: \(count)")
        failure.details = errors.map { "\(name):\($0.line):\($0.column): \($0.reason)\n\($0.excerpt)" }
        failure.members = { writer in
            writer.name("errors")
            writer.array { writer in
                for error in errors {
                    writer.object { writer in
                        writer.member("file", name)
                        writer.member("line", Int64(error.line))
                        writer.member("column", Int64(error.column))
                        writer.member("reason", error.reason)
                        writer.member("expected", error.expected)
                        writer.member("found", error.found)
                        if let hint = error.hint { writer.member("hint", hint) }
                        writer.member("excerpt", error.excerpt)
                    }
                }
            }
        }
        return failure
    }
}

/// The schema file option.
struct SchemaFileOptions: ParsableArguments {
    @Option(name: [.long, .customShort("f")], help: ArgumentHelp("The schema file (.ckdb); - is standard input.", valueName: "file"))
    var file: String
}
