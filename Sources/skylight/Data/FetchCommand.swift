import ArgumentParser
import DataTransfer
import RecordStore
import Records

struct FetchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fetch",
        abstract: "Print records by their names, and download their files.",
        discussion: """
            Records come in the order of the names. Without names, they are read from standard input, one a line. A record that is missing is \
            named, the others are printed, and the exit code is 1.

            --assets writes the files of the records' assets into a folder, each once, named by its SHA-256 (the fileChecksum of the asset) \
            as skylight export does. Files that are there are not fetched again. A file that came in part is continued.

            Examples:
              skylight fetch Room/general Room/random --zone Chats \\
                --container iCloud.com.example.Chat
              skylight fetch Note/1 --container iCloud.com.example.Chat \\
                --fields photo --assets photos
              skylight fetch --zone Chats --container iCloud.com.example.Chat \\
                --csv < names.txt
            """)

    /// Names in a request.
    private static let batchSize = 200
    /// The size of the fields in an answer.
    private static let bytesLimit = 8 << 20

    @Argument(
        help: ArgumentHelp("The record names. (default: the lines of standard input)", valueName: "name"))
    var names: [String] = []

    @Option(help: ArgumentHelp("The zone.", valueName: "name"))
    var zone = ZoneID.defaultZoneName.string

    @Option(
        help: ArgumentHelp(
            "The folder for the files of assets, created if missing. (default: none)", valueName: "folder"))
    var assets: String?

    @OptionGroup var read: ReadOptions

    func validate() throws {
        try read.check(zone)
        if names.contains("") { throw ValidationError("A record name is empty.") }
    }

    func run() async throws {
        let outcome = try await read.withDatabase { store, database in
            var exchange: AssetExchange?
            if let assets {
                exchange = try await store.exchange(assets, with: database.address, brokenDownload: .kept)
            }
            try exchange?.makeFolder()
            return try await print(try await read.zoneID(zone, in: store), from: database, exchange)
        }
        if let assets, !read.store.output.isJSON {
            Output.note("Assets: \(Output.files(outcome.files.count)), with \(ByteCount(outcome.bytes)), in \(assets).")
        }
        if outcome.missing == 0 { return }
        var failure = CommandFailure(
            .failed,
            "\(Output.grouped(outcome.missing)) of \(Output.grouped(outcome.count)) records could not be fetched",
            code: outcome.code)
        failure.members = { $0.member("missing", Int64(outcome.missing)) }
        throw failure
    }

    // MARK: Records

    private struct Outcome {
        var count = 0
        var missing = 0
        /// The code of the first missing record.
        var code: String?
        var files: Set<FileChecksum> = []
        var bytes: Int64 = 0
    }

    /// Fetches and prints page by page.
    private func print(_ zoneID: ZoneID, from database: any RecordDatabase, _ exchange: AssetExchange?) async throws
        -> Outcome
    {
        var source = NameSource(names)
        var batch = source.next(Self.batchSize)
        if batch.isEmpty {
            throw CommandFailure(
                .usage, "There are no record names", remedy: "Give them as arguments or on standard input")
        }
        let keys = read.keys.map { Set($0) }
        var outcome = Outcome()
        var printer: RecordPrinter?
        while !batch.isEmpty {
            let following = source.next(Self.batchSize)
            var rest = batch.map { RecordID(recordName: Name($0), zoneID: zoneID) }[...]
            while !rest.isEmpty {
                var results = try await database.fetch(
                    Array(rest), desiredKeys: keys, bytesLimit: Self.bytesLimit)[...]
                if let end = results.firstIndex(where: { $0.isTooManyBytes }), end > 0 { results = results[..<end] }
                let records = results.compactMap { try? $0.get() }
                if let exchange { try await download(records, exchange, &outcome) }
                if printer == nil {
                    let isAll = following.isEmpty && results.count == batch.count
                    printer = RecordPrinter(
                        read.format, columns: try await columns(of: records, results.count, isAll, in: database))
                }
                try printer?.say(zip(rest, results).map { RecordFileWriter.Item($0.recordName, $1) })
                for case .failure(let error) in results {
                    outcome.missing += 1
                    outcome.code = outcome.code ?? error.code.rawValue
                }
                outcome.count += results.count
                rest = rest.dropFirst(results.count)
            }
            batch = following
        }
        return outcome
    }

    /// - Parameter isAll: true if these are all records. Otherwise later ones may have any field of any type.
    private func columns(
        of records: [StoredRecord], _ count: Int, _ isAll: Bool, in database: any RecordDatabase
    ) async throws -> RecordFileWriter.Columns {
        var columns = RecordFileWriter.Columns(fields: read.keys ?? [], showsTypes: true)
        columns.showsErrors = !isAll || records.count < count
        if read.keys != nil || read.format == .json { return columns }
        if isAll || read.format == .table {
            columns.fields = try RecordFileWriter.fields(in: records)
        } else if let schema = try await database.part(.showSchema)?.schema() {
            columns.fields = Set(schema.types.values.flatMap(\.fields.keys)).sorted()
        } else {
            throw RecordPrinter.needsFields
        }
        return columns
    }

    // MARK: Files

    private func download(_ records: [StoredRecord], _ exchange: AssetExchange, _ outcome: inout Outcome) async throws {
        var files: [(place: String, checksum: FileChecksum, size: Int64)] = []
        for record in records {
            for (field, asset) in try record.fields.assets() {
                let place = "The asset in field '\(field)' of '\(record.recordID.recordName)'"
                guard let checksum = FileChecksum(asset.fileChecksum) else {
                    throw CommandFailure(.failed, "\(place) has no checksum from Skylight")
                }
                if outcome.files.insert(checksum).inserted { files.append((place, checksum, asset.size)) }
            }
        }
        let total = files.map(\.size).saturatedSum
        let bar = ProgressBar()
        defer { bar.finish() }
        var done: Int64 = 0
        for (number, file) in files.enumerated() {
            do {
                try await exchange.download(file.checksum, size: file.size) { bytes in
                    let sum = done.addingSaturated(bytes)
                    bar.show(
                        "Fetching", fraction: total == 0 ? nil : Double(sum) / Double(total), count: number, "files",
                        andBytes: sum)
                }
            } catch let error as RecordError {
                throw RecordError(
                    error.code, "\(file.place) can't be downloaded: \(error.reason)", retryAfter: error.retryAfter)
            }
            done = done.addingSaturated(file.size)
        }
        outcome.bytes = outcome.bytes.addingSaturated(done)
    }
}

extension Result<StoredRecord, RecordError> {
    fileprivate var isTooManyBytes: Bool {
        if case .failure(let error) = self { error.isTooManyBytes } else { false }
    }
}

/// Record names, from arguments or from the lines of standard input.
private struct NameSource {
    private var names: ArraySlice<String>
    private let isInput: Bool

    init(_ names: [String]) {
        self.names = names[...]
        isInput = names.isEmpty
    }

    /// The next names, which are fewer only at the end. Leaves out empty lines.
    mutating func next(_ count: Int) -> [String] {
        if !isInput {
            defer { names = names.dropFirst(count) }
            return Array(names.prefix(count))
        }
        var lines: [String] = []
        while lines.count < count, let line = readLine() {
            if !line.isEmpty { lines.append(line) }
        }
        return lines
    }
}
