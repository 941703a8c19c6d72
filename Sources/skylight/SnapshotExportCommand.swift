import ArgumentParser
import DataTransfer
import JSON
import Records

struct SnapshotExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write a snapshot as one file, to share it.",
        discussion: """
            The file is a tar archive of the snapshot's folder: exports of the databases, with schema and records, and the bytes of assets. It has the data \
            of all users. Another Skylight opens it with skylight snapshot import, or on its start page.

            Example:
              skylight snapshot export 'Failing sync' \\
                --container iCloud.com.example.App --output failing.skylight.tar
            """)

    @Argument(help: "The snapshot.")
    var name: String

    @Option(name: .shortAndLong, help: ArgumentHelp("The file to write. (default: standard output)", valueName: "file"))
    var output: String?

    @OptionGroup var options: SnapshotOptions

    func run() async throws {
        let archive = try SnapshotArchive(options.folder().snapshot(named: name))
        let file = if let output { try OutputFile(output) } else { OutputFile.standardOutput }
        let watch = output == nil ? nil : file.abandonedAtSignals()
        defer { watch?.cancel() }
        do {
            try await archive.write { try file.write($0) }
        } catch {
            file.abandon()
            throw error
        }
        try file.finish()
        guard let output else { return }
        if options.store.json {
            return Output.say { writer in
                writer.member("file", output)
                writer.member("bytes", archive.size)
            }
        }
        Output.note("Wrote '\(name)' into \(output): \(ByteCount(archive.size)).")
    }
}
