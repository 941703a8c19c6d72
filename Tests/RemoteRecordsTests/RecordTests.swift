import CloudKitClient
import Foundation
import Records
import Testing

@testable import RemoteRecords

/// Records as values that know what was changed.
@Suite struct RecordTests {
    @Test func valuesComeBackAsTheTypeThatIsAskedFor() {
        var record = Record(recordType: "Item", in: zone)
        record["text"] = "Milk"
        record["count"] = 3
        record["price"] = 1.5
        record["done"] = true
        record["day"] = Date(timeIntervalSince1970: 1_700_000_000.25)
        record["raw"] = Data([1, 2])
        record["place"] = Location(latitude: 1, longitude: 2)
        record["list"] = Reference(recordName: "l", action: .deleteSelf)
        record["tags"] = ["a", "b"]
        let text: String? = record["text"]
        let count: Int? = record["count"]
        let price: Double? = record["price"]
        let done: Bool? = record["done"]
        let day: Date? = record["day"]
        let raw: Data? = record["raw"]
        let place: Location? = record["place"]
        let list: Reference? = record["list"]
        let tags: [String]? = record["tags"]
        let wrong: Int? = record["text"]
        #expect(text == "Milk" && count == 3 && price == 1.5 && done == true && wrong == nil)
        #expect(day == Date(timeIntervalSince1970: 1_700_000_000.25) && raw == Data([1, 2]))
        #expect(place?.longitude == 2 && list?.action == .deleteSelf && tags == ["a", "b"])
        #expect(record.changedKeys == ["text", "count", "price", "done", "day", "raw", "place", "list", "tags"])
    }

    /// As NSNumber's are: where the number is exactly the same.
    @Test func numbersAreReadAsEachOther() {
        var record = Record(recordType: "Item", in: zone)
        record["whole"] = 3
        record["half"] = 1.5
        record["yes"] = true
        record["byte"] = 200 as UInt8
        record["short"] = -7 as Int32
        record["float"] = 0.25 as Float
        record["wholes"] = [1, 300]
        record["mixed"] = [NSNumber(value: 1), NSNumber(value: 0.5)]
        #expect(record.fields["byte"]?.value == .int64(200) && record.fields["short"]?.value == .int64(-7))
        #expect(record.fields["float"]?.value == .double(0.25))
        #expect(record.fields["mixed"]?.value == .list([.double(1), .double(0.5)], of: .double))
        // By the type that is asked for
        let (asDouble, asFloat, asByte): (Double?, Float?, UInt8?) = (record["whole"], record["whole"], record["byte"])
        #expect(asDouble == 3 && asFloat == 3 && asByte == 200)
        let (none, noByte, flag): (Int?, Int8?, Bool?) = (record["half"], record["byte"], record["yes"])
        #expect(none == nil && noByte == nil && flag == true)
        let (doubles, bytes): ([Double]?, [UInt8]?) = (record["wholes"], record["wholes"])
        #expect(doubles == [1, 300] && bytes == nil)
        // By a cast
        #expect(record["whole"] as? Int == 3 && record["whole"] as? Int64 == 3 && record["whole"] as? Int32 == 3)
        #expect(record["whole"] as? Double == 3 && record["whole"] as? Bool == nil && record["yes"] as? Bool == true)
        #expect(record["half"] as? Double == 1.5 && record["half"] as? Float == 1.5 && record["half"] as? Int == nil)
        #expect(record["byte"] as? UInt8 == 200 && record["byte"] as? Int8 == nil)
        #expect(record["wholes"] as? [Int64] == [1, 300] && record["wholes"] as? [Double] == [1, 300])
        #expect((record["whole"] as? NSNumber)?.intValue == 3 && record["whole"] as? String == nil)
        // A value that was read can be set.
        record["copy"] = record["half"]
        record["copies"] = record["wholes"]
        #expect(record.fields["copy"] == record.fields["half"] && record.fields["copies"] == record.fields["wholes"])
    }

    /// A number that is too large for a field is refused by the server, instead of being another one.
    @Test func largeNumbersAreNoIntegers() {
        let numbers = [NSNumber(value: UInt64.max), NSNumber(value: UInt64(Int64.max)), NSNumber(value: Int64.min)]
        let contents = numbers.map { $0.fieldContent.value }
        #expect(contents == [.double(Double(UInt64.max)), .int64(.max), .int64(.min)])
    }

    /// JSON has `null` for these numbers, and a filter with it finds other records.
    @Test func queriesWithoutANumberAreRefused() async throws {
        let nowhere = Location(latitude: .nan, longitude: 0)
        let queries = [
            Query(recordType: "Item", filters: ["amount" > Double.nan]),
            Query(recordType: "Item", filters: [.init("amount", .in, [1, Double.infinity])]),
            Query(recordType: "Item", filters: [.init("place", .near, nowhere, distance: 1)]),
            Query(
                recordType: "Item",
                filters: [.init("place", .near, Location(latitude: 0, longitude: 0), distance: .nan)]),
            Query(recordType: "Item", sorts: [.init("place", relativeLocation: nowhere)]),
        ]
        try await LiveServer.run { server in
            try await server.device { client in
                for query in queries {
                    let error = await operationError {
                        _ = try await Container(client).privateCloudDatabase.records(
                            matching: query, inZoneWith: .default)
                    }
                    #expect(error?.code == .invalidArguments && error?.serverError == nil, "\(query)")
                }
            }
        }
    }

    /// The server tells the sizes of files, and may tell any number.
    @Test func progressHasNoLimit() async throws {
        let values = CallbackLog()
        let done = try await withProgress(of: .max, after: .max, { values.note("\($0)") }) {
            (tell) async throws(OperationError) -> Bool in
            tell(.max)
            return true
        }
        #expect(done && values.all == ["1.0"])
    }

    /// What only one side changed is kept. What both changed is the client's, and the app can decide otherwise.
    @Test func threeVersionsAreMerged() throws {
        var ancestor = try edited("a", tag: "1", to: "old")
        (ancestor["more"], ancestor["same"]) = ("old", "old")
        ancestor = ancestor.saved(
            as: try ReceivedRecord(JSONReader.value(of: "{\(item("a", tag: "1"))}").object, in: zone))
        var (mine, theirs) = (ancestor, ancestor)
        // An app may set all keys of its model, also those that did not change.
        (mine["text"], mine["more"], mine["same"]) = ("mine", "old", "mine")
        (theirs["more"], theirs["same"]) = ("theirs", "theirs")
        theirs = theirs.saved(
            as: try ReceivedRecord(JSONReader.value(of: "{\(item("a", tag: "2"))}").object, in: zone))
        let conflict = OperationError.Conflict(serverRecord: theirs, clientRecord: mine, ancestorRecord: ancestor)
        let merged = conflict.merged
        #expect(["text", "more", "same"].map { merged[$0] as String? } == ["mine", "theirs", "mine"])
        #expect(merged.recordChangeTag == "2" && merged.changedKeys == ["text", "same"])
        #expect(conflict.keysChangedByBoth == ["same"])
        #expect(OperationError.Conflict(serverRecord: theirs, clientRecord: mine).merged["more"] as? String == "old")
    }

    /// Records of two zones may have the same name. The server adds the zone where the app gave none.
    @Test func aReferenceToAnotherZoneIsAChange() throws {
        var ancestor = try edited("a", tag: "1")
        ancestor["list"] = Reference(recordName: "l", zoneID: ZoneID(zoneName: "Old"))
        ancestor = ancestor.saved(
            as: try ReceivedRecord(JSONReader.value(of: "{\(item("a", tag: "1"))}").object, in: zone))
        var mine = ancestor
        mine["list"] = Reference(recordName: "l", zoneID: ZoneID(zoneName: "New"))
        let conflict = OperationError.Conflict(serverRecord: ancestor, clientRecord: mine, ancestorRecord: ancestor)
        let merged: Reference? = conflict.merged["list"]
        #expect(merged?.zoneID?.zoneName == "New" && !mine.isContained(in: ancestor, keys: ["list"]))
        mine["list"] = Reference(recordName: "l")
        #expect(mine.isContained(in: ancestor, keys: ["list"]))
    }

    @Test func changesAreKnownAndCanBeTakenBack() throws {
        var record = try edited("a", tag: "1")
        #expect(record.changedKeys == ["text"] && record.hasChanges)
        record["text"] = "newer"
        record["more"] = 1
        let before = record.withoutChanges
        #expect(
            before["text"] == "old" as String? && before.fields["more"] == nil && !before.hasChanges
                && before.recordChangeTag == "1")
        // Setting an equal value is a change too.
        var same = before
        same["text"] = "old"
        #expect(same.changedKeys == ["text"])
    }

    @Test func encryptedKeysStaySo() throws {
        var record = Record(recordType: "Item")
        record[encrypted: "secret"] = "a"
        record["secret"] = "b"
        #expect(record.fields["secret"] == .value(.string("b"), isEncrypted: true))
        // Also one that was removed before
        record = record.saved(as: try ReceivedRecord(JSONReader.value(of: "{\(item("a", tag: "1"))}").object, in: zone))
        record["secret"] = nil as String?
        record["secret"] = "c"
        #expect(record.fields["secret"] == .value(.string("c"), isEncrypted: true))
    }

    @Test func keptRecordsAreTheSame() throws {
        var record = try edited("a", tag: "1")
        record["file"] = AssetFile(fileURL: URL(filePath: "/tmp/a b.png"))
        record["none"] = [Int]()
        record[encrypted: "secret"] = Data([7])
        record.parent = "p"
        let again = try Record(encoded: record.encoded)
        #expect(again == record && again.withoutChanges == record.withoutChanges && again.parentHasChanged)
        #expect(again.withoutChanges.parent == nil && !again.withoutChanges.hasChanges)
        // The next process may have another working directory.
        record["file"] = AssetFile(fileURL: URL(filePath: "b.png"))
        let file: AssetFile? = try Record(encoded: record.encoded)["file"]
        #expect(file?.fileURL?.path(percentEncoded: false) == FileManager.default.currentDirectoryPath + "/b.png")
    }

    /// No server takes it. Its zone must not be lost before the save says so.
    @Test func aParentInAnotherZoneIsKept() throws {
        let far = RecordID(recordName: "p", zoneID: ZoneID(zoneName: "Far"))
        var record = try edited("a", tag: "1")
        record.setParent(far)
        let fields = try Record(encodedSystemFields: record.encodedSystemFields)
        for kept in [record, try Record(encoded: record.encoded), fields] {
            #expect(kept.parentID == far && kept.parentHasChanged && kept.withoutChanges.parent == nil)
            let error = try #require(kept.unwritable)
            #expect(error.code == .invalidArguments && error.reason.contains("'Far'"))
        }
        // An ID of the same zone may have the owner or not.
        record.setParent(RecordID(recordName: "p", zoneID: ZoneID(zoneName: zone.zoneName, ownerRecordName: "_a")))
        #expect(record.parentID == RecordID(recordName: "p", zoneID: zone) && record.unwritable == nil)
        record.parent = Reference(recordName: "q")
        #expect(record.parentID == RecordID(recordName: "q", zoneID: zone))
    }

    /// A new record whose system fields are stored before it is saved.
    @Test func systemFieldsHaveTheParentAsAChange() throws {
        var record = Record(recordType: "Item", in: zone)
        record.parent = "p"
        let again = try Record(encodedSystemFields: record.encodedSystemFields)
        #expect(again.parent == "p" && again.parentHasChanged)
    }

    /// Without these values, their keys would be changed to none, and the next save would remove what the server has.
    @Test func valuesThatAServerRefusesAreKept() throws {
        var place = Location(latitude: 91, longitude: .infinity)
        (place.course, place.timestamp) = (-0.5, Timestamp(milliseconds: 7))
        var record = Record(recordType: "Item", in: zone)
        record["none"] = Double.nan
        record["numbers"] = [1.5, -Double.infinity]
        record[encrypted: "secret"] = Double.infinity
        record["place"] = place
        record["places"] = [place, Location(latitude: 1, longitude: 2)]
        record["nobody"] = Reference(recordName: "", zoneID: zone, action: .validate)
        record[content: "mixed"] = .value(.list([.string("a"), .bytes([7])], of: .string), isEncrypted: false)
        let again = try Record(encoded: record.encoded)
        #expect((again["none"] as Double?)?.isNaN == true && again.changedKeys == record.changedKeys)
        for (key, content) in record.fields where key != "none" { #expect(again.fields[key] == content) }
    }

    @Test func systemFieldsAreEnoughToSaveAModel() throws {
        let kept = try edited("a", tag: "7").encodedSystemFields
        var record = try Record(encodedSystemFields: kept)
        #expect(
            record.recordID == RecordID(recordName: "a", zoneID: zone) && record.recordChangeTag == "7"
                && record.fields.isEmpty && !record.hasChanges)
        record["text"] = "from the model"
        #expect(record.changedKeys == ["text"])
        #expect(throws: UnreadableRecord.self) { try Record(encodedSystemFields: Array("[]".utf8)) }
    }

    /// A log tells which items failed, and not all of hundreds.
    @Test func errorsNameTheirItems() {
        var error = OperationError.partialFailure([
            .record(RecordID(recordName: "a", zoneID: zone)): OperationError(.zoneBusy, "wait"),
            .record(RecordID(recordName: "b")): OperationError(.permissionFailure, "no"),
            .user(LookupInfo(emailAddress: "ben@example.com")): OperationError(.unknownItem, "nobody"),
        ])
        #expect(
            "\(error)"
                == "partialFailure: 3 items failed (record 'a' of zone 'Items': zoneBusy: wait; "
                + "record 'b': permissionFailure: no; user 'ben@example.com': unknownItem: nobody)")
        error.partialErrors = Dictionary(
            uniqueKeysWithValues: (0..<12).map { (.subscription(Name("s\($0)")), OperationError(.zoneBusy, "wait")) })
        #expect("\(error)".hasSuffix("subscription 's7': zoneBusy: wait; and 2 more)"))
        #expect(UnreadableRecord().localizedDescription == "\(UnreadableRecord())")
    }

    /// The codes are those of CKError, which apps compare.
    @Test func serversErrorsHaveTheCodesOfCKError() {
        let codes: [(String, OperationError.Code, Int)] = [
            ("ACCESS_DENIED", .permissionFailure, 10), ("ATOMIC_ERROR", .batchRequestFailed, 22),
            ("AUTHENTICATION_FAILED", .notAuthenticated, 9),
            ("AUTHENTICATION_REQUIRED", .notAuthenticated, 9), ("BAD_REQUEST", .invalidArguments, 12),
            ("CONFLICT", .serverRecordChanged, 14),
            ("EXISTS", .serverRecordChanged, 14), ("INTERNAL_ERROR", .internalError, 1),
            ("NOT_FOUND", .unknownItem, 11),
            ("QUOTA_EXCEEDED", .quotaExceeded, 25), ("THROTTLED", .requestRateLimited, 7),
            ("TRY_AGAIN_LATER", .serviceUnavailable, 6),
            ("VALIDATING_REFERENCE_ERROR", .referenceViolation, 31), ("ZONE_BUSY", .zoneBusy, 23),
            ("ZONE_NOT_FOUND", .zoneNotFound, 26),
            ("UNIQUE_FIELD_ERROR", .constraintViolation, 19), ("SOMETHING_NEW", .serverRejectedRequest, 15),
        ]
        for (name, code, number) in codes {
            let error = OperationError(ServerError(codeName: name, reason: "r", retryAfter: .seconds(3)))
            #expect(error.code == code && code.rawValue == number && error.retryAfter == .seconds(3), "\(name)")
        }
        let expired = ServerError(codeName: "BAD_REQUEST", reason: "client knowledge differs from server knowledge")
        #expect(
            OperationError(expired).code == .changeTokenExpired && OperationError.Code.changeTokenExpired.rawValue == 21
        )
        #expect(
            OperationError.Code.accountTemporarilyUnavailable.rawValue == 36 && OperationError.Code.allCases.count == 36
        )
    }
}
