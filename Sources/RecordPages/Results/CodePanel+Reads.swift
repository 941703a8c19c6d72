internal import Console
internal import Foundation
internal import RecordStore
internal import Records

/// Queries and fetches, as code.
extension CodePanel {
    /// A query and its first page.
    init(_ plan: CheckedQuery, form: QueryForm, type: RecordType?, visit: Visit) {
        let zoneID: ZoneID? = if case .zone(let zoneID) = visit.queryArea { zoneID } else { nil }
        let writer = CodeWriter(visit.place, zoneID: zoneID, server: visit.server)
        let keys = form.keys.names
        let swift = SwiftQueryCode(
            plan.query, type: type, in: visit.place.address, zoneID: zoneID, keys: keys, limit: form.limit)
        let query = QueryCode.json(plan.query, type: type)
        var options = zoneID == nil ? [JSONObject.Member(name: "zoneWide", value: true)] : writer.zoneMembers
        options.append(JSONObject.Member(name: "resultsLimit", value: .integer(Int64(form.limit))))
        options += CodeWriter.keyMembers(keys)
        let subject = "The query"
        self.init(
            title: "This query as code",
            samples: [
                CodeSample("Swift, async", of: subject, text: swift.text),
                CodeSample("Swift, CKQueryOperation", of: subject, text: swift.operationText),
                writer.javaScript(
                    of: subject,
                    """
                    const query = \(RecordJSON.laidOut(query))
                    const options = \(RecordJSON.laidOut(.object(JSONObject(options))))
                    const response = await database.performQuery(query, options)
                    \(CodeWriter.printRecords)
                    """),
                writer.command(
                    "records/query", [JSONObject.Member(name: "query", value: query)] + options, of: subject),
            ])
    }

    /// A fetch of records by name.
    init(fetching names: [Name], keys: [Name]?, zoneID: ZoneID, visit: Visit) {
        let writer = CodeWriter(visit.place, zoneID: zoneID, server: visit.server)
        let swift = SwiftFetchCode(names, keys: keys, writer: writer)
        let subject = "The fetch"
        let options = writer.zoneMembers + CodeWriter.keyMembers(keys)
        let list = JSONValue.array(names.map { .string($0.string) })
        let argument = options.isEmpty ? "" : ", \(RecordJSON.laidOut(.object(JSONObject(options))))"
        let records = names.map {
            JSONValue.object(JSONObject([JSONObject.Member(name: "recordName", value: .string($0.string))]))
        }
        self.init(
            title: "This fetch as code",
            samples: [
                CodeSample("Swift, async", of: subject, text: swift.text),
                CodeSample("Swift, CKFetchRecordsOperation", of: subject, text: swift.operationText),
                writer.javaScript(
                    of: subject,
                    """
                    const response = await database.fetchRecords(\(RecordJSON.laidOut(list))\(argument))
                    \(CodeWriter.printRecords)
                    """),
                writer.command(
                    "records/lookup", [JSONObject.Member(name: "records", value: .array(records))] + options,
                    of: subject),
            ])
    }
}

// MARK: - Queries in JSON

/// A query as JSON for code samples. System fields use CloudKit's own member for them.
enum QueryCode {
    static func json(_ query: Query, type: RecordType?) -> JSONValue {
        var writer = JSONWriter()
        writer.value(query)
        guard case .object(var object)? = try? JSONReader.value(of: writer.bytes) else { return nil }
        for list: Name in ["filterBy", "sortBy"] {
            guard case .array(let items)? = object[list] else { continue }
            object[list] = items.isEmpty ? nil : .array(items.map { named($0, type: type) })
        }
        return .object(object)
    }

    private static func named(_ item: JSONValue, type: RecordType?) -> JSONValue {
        guard case .object(let object) = item, case .string(let name)? = object["fieldName"] else { return item }
        guard case .system(let field) = (type ?? RecordType(name: "")).key(named: Name(name)) else { return item }
        return .object(
            JSONObject(
                object.map { member in
                    member.name == "fieldName"
                        ? JSONObject.Member(name: "systemFieldName", value: .string(field.alias.string)) : member
                }))
    }
}

// MARK: - Queries in Swift

/// A query in Swift, for Apple's CloudKit framework (Apple's reference pages CKQuery, CKDatabase and CKQueryOperation).
struct SwiftQueryCode {
    let text: String
    let operationText: String

    /// - Parameters:
    ///   - zoneID: `nil` for all zones.
    ///   - keys: the fields to return; `nil` for all.
    init(_ query: Query, type: RecordType?, in address: DatabaseAddress, zoneID: ZoneID?, keys: [Name]?, limit: Int) {
        let type = type ?? RecordType(name: query.recordType)
        let isZoned = zoneID.map { !$0.isDefault } ?? false
        let predicate = Predicate(query.filters, type: type, referenceZone: isZoned ? "zoneID" : nil)
        var lines = ["import CloudKit"]
        if predicate.hasPlaces || query.sorts.contains(where: { $0.relativeLocation != nil }) {
            lines.append("import CoreLocation")
        }
        lines.append("")
        var warnings = predicate.warnings
        if address.scope == .shared, zoneID == nil {
            warnings.append("A shared database is queried zone by zone: choose a zone")
        }
        if query.sorts.contains(where: { $0.relativeLocation != nil && !$0.ascending }) {
            warnings.append("CKLocationSortDescriptor sorts nearest first: reverse the results")
        }
        lines += warnings.map { "#warning(\(CodeWriter.quoted($0)))" }
        lines.append(
            "let database = CKContainer(identifier: \(CodeWriter.quoted(address.container.description))).\(address.scope.rawValue)CloudDatabase"
        )
        if isZoned, let zoneID {
            let owner =
                address.scope == .shared
                ? zoneID.ownerRecordName.map { ", ownerName: \(CodeWriter.quoted($0.string))" } ?? "" : ""
            lines.append("let zoneID = CKRecordZone.ID(zoneName: \(CodeWriter.quoted(zoneID.zoneName.string))\(owner))")
        }
        lines += predicate.lines
        lines.append(
            "let query = CKQuery(recordType: \(CodeWriter.quoted(query.recordType.string)), predicate: predicate)")
        if !query.sorts.isEmpty {
            lines.append("query.sortDescriptors = [")
            lines += query.sorts.map { "    \(Self.descriptor($0, type: type))," }
            lines.append("]")
        }
        let asked = keys.map { CodeWriter.swiftList($0) }
        var arguments = ["matching: query"]
        var settings: [String] = []
        if isZoned {
            arguments.append("inZoneWith: zoneID")
            settings.append("operation.zoneID = zoneID")
        } else if zoneID != nil, address.scope == .private {
            arguments.append("inZoneWith: .default")
            settings.append("operation.zoneID = .default")
        }
        if let asked {
            arguments.append("desiredKeys: \(asked)")
            settings.append("operation.desiredKeys = \(asked)")
        }
        arguments.append("resultsLimit: \(limit)")
        settings.append("operation.resultsLimit = \(limit)")
        text =
            (lines + [
                "let (matchResults, queryCursor) = try await database.records(",
                "    \(arguments.joined(separator: ", ")))",
                "for (recordID, result) in matchResults { print(recordID.recordName, try result.get()) }",
                "// The next page: database.records(continuingMatchFrom: queryCursor)",
                "print(queryCursor == nil ? \"Nothing remains\" : \"There is more\")",
            ]).joined(separator: "\n")
        operationText =
            (lines + ["let operation = CKQueryOperation(query: query)"] + settings + [
                "operation.recordMatchedBlock = { recordID, result in print(recordID.recordName, result) }",
                "operation.queryResultBlock = { result in",
                "    switch result {",
                "    // The next page: CKQueryOperation(cursor: cursor)",
                "    case .success(let cursor): print(cursor == nil ? \"Nothing remains\" : \"There is more\")",
                "    case .failure(let error): print(error)",
                "    }",
                "}",
                "database.add(operation)",
            ]).joined(separator: "\n")
    }

    /// The lines that make the predicate of filters, the imports that they need, and the filters that they lack.
    static func predicate(_ query: Query, type: RecordType?, isZoned: Bool) -> (
        lines: [String], imports: [String], warnings: [String]
    ) {
        let predicate = Predicate(
            query.filters, type: type ?? RecordType(name: query.recordType), referenceZone: isZoned ? "zoneID" : nil)
        return (predicate.lines, ["CloudKit"] + (predicate.hasPlaces ? ["CoreLocation"] : []), predicate.warnings)
    }

    private static func descriptor(_ sort: Query.Sort, type: RecordType) -> String {
        let key = CodeWriter.quoted(name(of: type.key(named: sort.fieldName)))
        guard let place = sort.relativeLocation else {
            return "NSSortDescriptor(key: \(key), ascending: \(sort.ascending))"
        }
        return "CKLocationSortDescriptor(key: \(key), relativeLocation: \(literal(place)))"
    }

    /// The name of a field in CKRecord.
    private static func name(of key: FieldKey) -> String {
        guard case .system(let field) = key else { return key.schemaName.string }
        return switch field {
        case .createTime: "creationDate"
        case .createdBy: "creatorUserRecordID"
        case .etag: "recordChangeTag"
        case .modTime: "modificationDate"
        case .modifiedBy: "lastModifiedUserRecordID"
        case .recordID: "recordID"
        case .parent: "parent"
        case .share: "share"
        }
    }

    // MARK: Literals

    /// A location with all its values. Missing values become the placeholders of CLLocation for unknown values.
    private static func literal(_ location: Location) -> String {
        let numbers = [
            location.altitude, location.horizontalAccuracy, location.verticalAccuracy, location.course, location.speed,
        ]
        if numbers.allSatisfy({ $0 == nil }), location.timestamp == nil {
            return "CLLocation(latitude: \(location.latitude), longitude: \(location.longitude))"
        }
        let timestamp = location.timestamp.map { "Date(timeIntervalSince1970: \(seconds($0)))" } ?? "Date()"
        return
            "CLLocation(coordinate: CLLocationCoordinate2D(latitude: \(location.latitude), longitude: \(location.longitude)), "
            + "altitude: \(location.altitude ?? 0), horizontalAccuracy: \(location.horizontalAccuracy ?? 0), "
            + "verticalAccuracy: \(location.verticalAccuracy ?? -1), course: \(location.course ?? -1), speed: \(location.speed ?? -1), "
            + "timestamp: \(timestamp))"
    }

    private static func literal(_ value: FieldValue, referenceZone: String?) -> String {
        switch value {
        case .string(let string): CodeWriter.quoted(string)
        case .int64(let integer): String(integer)
        case .double(let double): double.description
        case .bytes(let bytes): "Data(base64Encoded: \(CodeWriter.quoted(Data(bytes).base64EncodedString())))!"
        case .timestamp(let timestamp): "Date(timeIntervalSince1970: \(seconds(timestamp)))"
        case .location(let location): literal(location)
        case .reference(let reference): literal(reference, zone: referenceZone)
        case .asset(let asset): CodeWriter.quoted(asset.fileChecksum)
        case .list(let elements, _):
            "[\(elements.map { literal($0, referenceZone: referenceZone) }.joined(separator: ", "))]"
                + (elements.isEmpty ? " as [Any]" : "")
        }
    }

    /// A value in an assignment to a record. Empty lists include their element type, which Swift can't infer.
    static func stored(_ value: FieldValue, referenceZone: String?) -> String {
        guard case .list(let elements, let type) = value, elements.isEmpty else {
            return literal(value, referenceZone: referenceZone)
        }
        let element =
            switch type {
            case .int64?: "Int64"
            case .double?: "Double"
            case .timestamp?: "Date"
            case .bytes?: "Data"
            case .location?: "CLLocation"
            case .reference?: "CKRecord.Reference"
            case .asset?: "CKAsset"
            case .string?, nil: "String"
            }
        return "[] as [\(element)]"
    }

    private static func literal(_ reference: Reference, zone: String?) -> String {
        let named =
            reference.zoneID.map { "CKRecordZone.ID(zoneName: \(CodeWriter.quoted($0.zoneName.string)))" } ?? zone
        let recordID =
            "CKRecord.ID(recordName: \(CodeWriter.quoted(reference.recordName.string))"
            + (named.map { ", zoneID: \($0)" } ?? "") + ")"
        let action = reference.action == .deleteSelf ? ".deleteSelf" : ".none"
        return "CKRecord.Reference(recordID: \(recordID), action: \(action))"
    }

    /// The time in seconds, exact to the millisecond, without a zero fraction.
    private static func seconds(_ timestamp: Timestamp) -> String {
        let (whole, part) = timestamp.milliseconds.quotientAndRemainder(dividingBy: 1000)
        if part == 0 { return String(whole) }
        let sign = timestamp.milliseconds < 0 ? "-" : ""
        return "\(sign)\(whole.magnitude).\(String(part.magnitude, digits: 3))"
    }
}

extension SwiftQueryCode {
    /// The filters as a predicate. All names and values are arguments, so that the format parser does not interpret
    /// them.
    private struct Predicate {
        private var formats: [String] = []
        private var arguments: [String] = []
        private(set) var warnings: [String] = []
        private(set) var hasPlaces = false
        private let referenceZone: String?

        init(_ filters: [Query.Filter], type: RecordType, referenceZone: String?) {
            self.referenceZone = referenceZone
            for filter in filters { add(filter, type: type) }
        }

        var lines: [String] {
            if formats.isEmpty { return ["let predicate = NSPredicate(value: true)"] }
            return [
                "let predicate = NSPredicate(", "    format: \(CodeWriter.quoted(formats.joined(separator: " AND "))),",
                "    argumentArray: [",
            ] + arguments.map { "        \($0)," } + ["    ])"]
        }

        private mutating func add(_ filter: Query.Filter, type: RecordType) {
            let key = type.key(named: filter.fieldName)
            let name = CodeWriter.quoted(SwiftQueryCode.name(of: key))
            let declared = type.definition(of: key)?.type
            let value = Self.value(of: filter, declared: declared)
            if case .location = value.elements.first { hasPlaces = true }
            let literal = SwiftQueryCode.literal(value, referenceZone: isUserName(key) ? nil : referenceZone)
            func clause(_ format: String, _ added: [String]) {
                formats.append(
                    filter.comparator.negated == nil || filter.comparator == .notEquals ? format : "NOT (\(format))")
                arguments += added
            }
            switch filter.comparator.negated ?? filter.comparator {
            case .equals: clause(filter.comparator == .notEquals ? "%K != %@" : "%K == %@", [name, literal])
            case .lessThan: clause("%K < %@", [name, literal])
            case .lessThanOrEquals: clause("%K <= %@", [name, literal])
            case .greaterThan: clause("%K > %@", [name, literal])
            case .greaterThanOrEquals: clause("%K >= %@", [name, literal])
            case .beginsWith: clause("%K BEGINSWITH %@", [name, literal])
            case .in: clause("%K IN %@", [name, literal])
            case .listContains: clause("%K CONTAINS %@", [name, literal])
            case .listContainsAny: clause("ANY %K IN %@", [name, literal])
            case .listContainsAll where filter.comparator == .listContainsAll:
                for element in value.elements {
                    clause("%K CONTAINS %@", [name, SwiftQueryCode.literal(element, referenceZone: referenceZone)])
                }
            case .near:
                // Half of the Earth's circumference covers every location.
                let metres = filter.distance.map { $0.description } ?? "20_040_000.0"
                clause("distanceToLocation:fromLocation:(%K, %@) < %@", [name, literal, metres])
            case .containsAllTokens:
                clause("allTokens TOKENMATCHES[cdl] %@", [literal])
                warnings.append("allTokens searches every SEARCHABLE field, not only \(filter.fieldName)")
            default:
                warnings.append(
                    "CloudKit documents no predicate for \(filter.comparator.rawValue) on \(filter.fieldName): filter the results, or use the web services"
                )
            }
        }

        private func isUserName(_ key: FieldKey) -> Bool {
            key == .system(.createdBy) || key == .system(.modifiedBy)
        }

        private static func value(of filter: Query.Filter, declared: FieldType?) -> FieldValue {
            switch filter.value {
            case .cleared: .string("")
            case .tagged(let value, _, _): value
            case .untagged(let value, _):
                declared.flatMap { filter.value.value(declared: FieldType($0.valueType)) } ?? value
            }
        }
    }
}

// MARK: - Fetches in Swift

/// A fetch of records by their names in Swift (Apple's reference pages CKDatabase and CKFetchRecordsOperation).
struct SwiftFetchCode {
    let text: String
    let operationText: String

    /// - Parameter keys: the fields to return; `nil` for all.
    init(_ names: [Name], keys: [Name]?, writer: CodeWriter) {
        var head = writer.swiftHead()
        head.append("let recordIDs = [")
        head += names.map { "    \(writer.swiftRecordID($0))," }
        head.append("]")
        let asked = keys.map { ", desiredKeys: \(CodeWriter.swiftList($0))" } ?? ""
        text =
            (head + [
                "let results = try await database.records(for: recordIDs\(asked))",
                "for (recordID, result) in results {",
                "    switch result {",
                "    case .success(let record): print(recordID.recordName, record)",
                "    case .failure(let error): print(recordID.recordName, error)",
                "    }",
                "}",
            ]).joined(separator: "\n")
        operationText =
            (head + ["let operation = CKFetchRecordsOperation(recordIDs: recordIDs)"]
            + (keys.map { ["operation.desiredKeys = \(CodeWriter.swiftList($0))"] } ?? []) + [
                "operation.perRecordResultBlock = { recordID, result in",
                "    switch result {",
                "    case .success(let record): print(recordID.recordName, record)",
                "    case .failure(let error): print(recordID.recordName, error)",
                "    }",
                "}",
                "operation.fetchRecordsResultBlock = { result in",
                "    if case .failure(let error) = result { print(error) }",
                "}",
                "database.add(operation)",
            ]).joined(separator: "\n")
    }
}
