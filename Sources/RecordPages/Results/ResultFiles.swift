internal import AssetStore
package import Console
package import DataTransfer
internal import HTTPServing
internal import HTTPTypes
package import Hummingbird
internal import NIOCore
internal import RecordStore
internal import Records

/// Download links for the answer on a page.
struct ResultFiles: ViewModel {
    struct File: ViewModel {
        /// `JSON`.
        let format: String
        /// The link to the records on the page.
        let page: String
        /// The link to all pages; `nil` if the page shows everything.
        let all: String?
    }

    let files: [File]

    /// - Parameters:
    ///   - page: the name of the page, which the file extension follows.
    ///   - all: the parameters of the whole answer; `nil` if the page shows everything.
    init(
        to page: String, _ parameters: [(name: String, value: String)], all: [(name: String, value: String)]? = nil,
        visit: Visit
    ) {
        files = ResultFormat.allCases.map { format in
            let file = "\(page).\(format.rawValue)"
            return File(
                format: format.label, page: visit.place.link(file, parameters),
                all: all.map { visit.place.link(file, $0 + [("all", "1")]) })
        }
    }
}

extension ResultFormat {
    /// The answer to the query of an address.
    package func query(_ visit: Visit) async throws -> Response {
        try await Response.orRefusal { try await QueryResults(visit, format: self, origin: visit.server).response() }
    }

    /// The records that an address names.
    package func fetch(_ visit: Visit) async throws -> Response {
        try await Response.orRefusal {
            try await FetchResults(visit: visit, format: self, origin: visit.server).response()
        }
    }

    /// The records that are ticked on a page.
    func picked(_ visit: Visit) async throws -> Response {
        try await Response.orRefusal {
            let results = FetchResults(visit: visit, format: self, origin: visit.server)
            return try await results.response(visit.pickedRecords().map(\.recordID), keys: nil)
        }
    }
}

// MARK: - Answers to queries

/// The answer to a query as a file: one page, or with `all=1` all records as a stream.
///
/// The address equals that of the page, with `.json`, `.ndjson` or `.csv` after `query`.
struct QueryResults {
    /// The size of one read while streaming all records.
    private static let pageLimit = PageLimit(records: 500, bytes: 1 << 20)

    private let visit: Visit
    private let format: ResultFormat
    private let origin: String
    private let form: QueryForm
    private let request: QueryRequest
    private let writer: RecordFileWriter

    /// - Parameter origin: the origin under which the client reached the server: scheme, host and port.
    /// - Throws: `RecordError` BAD_REQUEST if a value is invalid, NOT_FOUND if the container has no types.
    init(_ visit: Visit, format: ResultFormat, origin: String) async throws {
        var form = QueryForm(visit.fields)
        if form.type == nil { form.type = visit.usualType(await visit.recordCounts())?.name }
        guard let typeName = form.type else {
            throw RecordError(.notFound, "The container has no record types yet; save a record first")
        }
        let type = visit.schema?.types[typeName] ?? RecordType(name: typeName)
        form.chooseFittingComparators(for: type)
        let plan = CheckedQuery(form, of: type)
        if let problem = plan.firstProblem { throw RecordError(.badRequest, problem) }
        let isAll = visit.fields["all"] == "1"
        request = QueryRequest(
            plan.query, in: visit.queryArea, limit: isAll ? Self.pageLimit : PageLimit(records: form.limit),
            continuationMarker: isAll ? nil : form.markers.last, desiredKeys: form.keys.set)
        var columns = RecordFileWriter.Columns(fields: QueryField.all(of: type).filter { !$0.isSystem }.map(\.name))
        if let keys = request.desiredKeys { columns.fields = columns.fields.filter(keys.contains) }
        columns.showsZones = visit.queriesSeveralZones
        columns.showsOwners = columns.showsZones && visit.place.address.scope == .shared
        writer = RecordFileWriter(format: format, columns: columns)
        self.visit = visit
        self.format = format
        self.origin = origin
        self.form = form
    }

    private var isAll: Bool { visit.fields["all"] == "1" }

    /// - Throws: `RecordError` if the first page is refused. A later error ends the file: NDJSON gets an
    ///   error line; for the other formats the connection breaks, so that clients notice the truncation.
    func response() async throws -> Response {
        let fileName = (form.type ?? "records").string
        guard isAll else {
            return try await RequestMemory.makeAnswer {
                let page = try await visit.database.query(request)
                try RequestMemory.prepareAnswer(with: page.records)
                return .file(try await text(of: page), format: format, name: fileName)
            }
        }
        // A page, and the text that is made of it.
        try await RequestMemory.current?.makeRoom(forAnswerOf: 2 * Self.pageLimit.bytes)
        let first = try await visit.database.query(request)
        let body = ResponseBody { output in
            var page = first
            var isFirst = true
            var cycle = CycleDetector(from: nil)
            try await output.write(ByteBuffer(bytes: writer.head()))
            do {
                while true {
                    let address = try await visit.addresses(in: page.records, origin: origin)
                    try await output.write(
                        piecesOf: try writer.rows(
                            page.records.map { RecordFileWriter.Item($0) }, isFirst: isFirst, address: address))
                    isFirst = isFirst && page.records.isEmpty
                    guard let marker = page.continuationMarker else { break }
                    if cycle.isClosed(by: marker) { throw RecordError(known: .pagesInACircle) }
                    try Task.checkCancellation()
                    var next = request
                    next.continuationMarker = marker
                    page = try await visit.database.query(next)
                }
            } catch let error as RecordError {
                guard let line = writer.failure(error) else { throw error }
                try await output.write(ByteBuffer(bytes: line))
            }
            try await output.write(ByteBuffer(bytes: writer.end()))
            try await output.finish(nil)
        }
        return .file(body, format: format, name: fileName)
    }

    private func text(of page: QueryPage) async throws -> [UInt8] {
        let address = try await visit.addresses(in: page.records, origin: origin)
        var members: [JSONObject.Member] = []
        if let marker = page.continuationMarker {
            members.append(JSONObject.Member(name: "continuationMarker", value: .string(marker)))
            let next = origin + visit.place.link("query.\(format.rawValue)", form.nextPage(marker).parameters)
            members.append(JSONObject.Member(name: "next", value: .string(next)))
        }
        return try writer.head()
            + writer.rows(page.records.map { RecordFileWriter.Item($0) }, isFirst: true, address: address)
            + writer.end(members)
    }
}

// MARK: - Fetched records

/// Fetched records as a file. Missing records are included, with the error.
struct FetchResults {
    let visit: Visit
    let format: ResultFormat
    let origin: String

    /// The records that the request names, one name per line in `names`, in one zone or in all.
    /// - Throws: `RecordError` BAD_REQUEST if there are none, or more than a request may fetch.
    func response() async throws -> Response {
        let asked = FetchForm(visit)
        if asked.names.isEmpty { throw RecordError(.badRequest, "Enter record names in 'names', one per line") }
        return try await response(try await asked.recordIDs(visit).recordIDs, keys: asked.keys.set)
    }

    /// - Parameter keys: the fields to return; `nil` for all.
    /// - Throws: `RecordError` TRY_AGAIN_LATER when there is no room for them.
    func response(_ recordIDs: [RecordID], keys: Set<Name>?) async throws -> Response {
        try await RequestMemory.makeAnswer { try await file(recordIDs, keys: keys) }
    }

    private func file(_ recordIDs: [RecordID], keys: Set<Name>?) async throws -> Response {
        let results = try await visit.database.fetch(recordIDs, desiredKeys: keys, bytesLimit: FetchView.bytesLimit)
        let records = results.compactMap { try? $0.get() }
        try RequestMemory.prepareAnswer(with: records)
        let address = try await visit.addresses(in: records, origin: origin)
        let items = zip(recordIDs, results).map { RecordFileWriter.Item($0.recordName, $1) }
        let writer = RecordFileWriter(
            format: format, columns: try columns(of: records, missing: records.count < results.count))
        let text = try writer.head() + writer.rows(items, isFirst: true, address: address) + writer.end()
        let types = Set(records.map(\.recordType))
        return .file(text, format: format, name: types.count == 1 ? types.first?.string ?? "records" : "records")
    }

    /// One column for each field in use.
    private func columns(of records: [StoredRecord], missing: Bool) throws -> RecordFileWriter.Columns {
        guard format == .csv else { return RecordFileWriter.Columns(fields: []) }
        var columns = RecordFileWriter.Columns(fields: try RecordFileWriter.fields(in: records))
        columns.showsTypes = true
        columns.showsZones = Set(records.map(\.recordID.zoneID)).count > 1
        columns.showsOwners = columns.showsZones && visit.place.address.scope == .shared
        columns.showsErrors = missing
        return columns
    }
}

// MARK: - Addresses of asset files

extension Visit {
    /// The download addresses of assets for use outside the console, valid for at least an hour; `nil` if none of the
    /// records has assets, or the engine keeps no files of this container.
    func addresses(in records: [StoredRecord], origin: String) async throws -> AssetAddress? {
        guard assets.keepsFiles(of: place.address.container), records.contains(where: { $0.fields.mayHoldAssets })
        else { return nil }
        let links = try await assets.links(place.address.container, place.address.environment, origin: origin)
        return { asset, field in links.downloadURL(of: asset, in: field) }
    }
}

// MARK: - Responses

extension Response {
    /// Records as a file. Browsers display JSON and download the other formats.
    /// - Parameter name: the file name without extension. Characters other than letters, digits, dots and underscores
    ///   become hyphens.
    static func file(_ bytes: [UInt8], format: ResultFormat, name: String) -> Response {
        file(.pieces(of: bytes), format: format, name: name)
    }

    static func file(_ body: ResponseBody, format: ResultFormat, name: String) -> Response {
        let safe = String(
            decoding: name.utf8.map { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"),
                    UInt8(ascii: "_"), UInt8(ascii: "."):
                    byte
                default: UInt8(ascii: "-")
                }
            }, as: UTF8.self)
        let disposition = format == .json ? "inline" : "attachment"
        return Response(
            status: .ok,
            headers: [
                .contentType: format.mediaType, .cacheControl: "no-store",
                .contentDisposition: "\(disposition); filename=\"\(safe).\(format.rawValue)\"",
            ], body: body)
    }

    /// A file. Programs read it, so an error is answered in the format of the web services.
    static func orRefusal(_ file: () async throws -> Response) async throws -> Response {
        do { return try await file() } catch let error as RecordError { return .refusal(error) }
    }

    /// An error in the format of the web services, in place of a file.
    private static func refusal(_ error: RecordError) -> Response {
        var response = json(
            RecordFileWriter.error(error, of: nil) + [UInt8(ascii: "\n")], status: error.code.httpStatus)
        if let seconds = error.retryAfter { response.headers[.retryAfter] = String(seconds) }
        return response
    }
}
