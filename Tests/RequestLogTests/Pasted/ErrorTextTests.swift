import Records
import RequestLog
import Testing

@Suite struct ErrorTextTests {
    @Test func aDescriptionIsRead() throws {
        let errors = ErrorText(
            """
            2026-11-20 save failed: Optional(<CKError 0x17d38520: "Server Rejected Request" (15/2000); server message = "Internal server error"; op = CBDA290480B8DCFA; uuid = 656C1EA8-A74E-4A4D-BACD-AE9B3AD9CFAE; container ID = "iCloud.com.example.App">) after 3 s
            """
        ).errors
        let error = try #require(errors.first)
        #expect(errors.count == 1)
        #expect(
            error.number == 15 && error.internalNumber == 2000 && error.name == "Server Rejected Request"
                && error.domain == "CKErrorDomain")
        #expect(error.message == "Internal server error")
        #expect(error.uuid == "656C1EA8-A74E-4A4D-BACD-AE9B3AD9CFAE" && error.operationID == "CBDA290480B8DCFA")
        #expect(error.container == "iCloud.com.example.App")
        #expect(error.code?.name == "serverRejectedRequest" && error.code?.retry == .never)
    }

    @Test func theErrorsOfItemsComeWithTheirItems() {
        let errors = ErrorText(
            """
            Finished operation <CKModifyRecordsOperation: 0x77ad9fcf00> with error: <CKError 0x77ada9b750: "Partial Failure" (2/1011); "Failed to modify some records"; uuid = AAAA1111-0000; container ID = "iCloud.com.example.App"; partial errors: {
            \tA95663E0:(com.apple.coredata.cloudkit.zone:__defaultOwner__) = <CKError 0x77ada9b300: "Invalid Arguments" (12/2006); server message = "Cannot create or modify field 'CD_deviceID' in record 'CD_Session' in production schema"; op = ACABE99432842D30>
            \tB1 = <CKError 0x2: "Server Record Changed" (14/2004); server message = "client oplock error updating record"; clientEtag = 1g; serverEtag = 1h>
            \t... 2 "Batch Request Failed" CKErrors omitted ...
            }>
            """
        ).errors
        #expect(errors.map(\.number) == [2, 12, 14])
        #expect(errors.map(\.depth) == [0, 1, 1])
        #expect(errors.map(\.subject) == [nil, "A95663E0", "B1"])
        #expect(errors[0].message == "Failed to modify some records" && errors[0].uuid == "AAAA1111-0000")
        #expect(
            errors[1].message
                == "Cannot create or modify field 'CD_deviceID' in record 'CD_Session' in production schema")
        #expect(errors[1].knownReason?.remedy.contains("deploy the schema") == true)
        #expect(errors[2].clientTag == "1g" && errors[2].serverTag == "1h")
    }

    @Test func itemsInALineAndInAnNSErrorAreDistinguished() {
        let inLine = ErrorText(
            "<CKError 0x1: \"Partial Failure\" (2/1011); partial errors: {a = <CKError 0x2: \"Zone Busy\" (23/2009); Retry after 2.5 seconds>, b = <CKError 0x3: \"Batch Request Failed\" (22/2024)>}>"
        ).errors
        #expect(inLine.map(\.subject) == [nil, "a", "b"] && inLine.map(\.number) == [2, 23, 22])
        #expect(inLine[1].retryAfter == 2.5)
        let wrapped = ErrorText(
            """
            Error Domain=NSCocoaErrorDomain Code=134406 "Request was aborted" UserInfo={NSUnderlyingError=0x600 {Error Domain=CKErrorDomain Code=2 "Failed to modify some records" UserInfo={CKErrorDescription=Failed to modify some records, CKPartialErrors={
                "<CKRecordID: 0x600; recordName=Message/m1, zoneID=Chats:__defaultOwner__>" = "<CKError 0x6: \\"Unknown Item\\" (11/2003); server message = \\"Record not found\\">";
                "<CKRecordID: 0x601; recordName=m2, zoneID=Chats:__defaultOwner__>" = "<CKError 0x7: \\"Quota Exceeded\\" (25/2035)>";
            }, RequestUUID=BBBB2222-1111, CKRetryAfter=340}}}
            """
        ).errors
        #expect(wrapped.map(\.domain) == ["NSCocoaErrorDomain", "CKErrorDomain", "CKErrorDomain", "CKErrorDomain"])
        #expect(wrapped.map(\.number) == [134_406, 2, 11, 25])
        #expect(wrapped.map(\.subject) == [nil, nil, "Message/m1", "m2"])
        #expect(wrapped.map(\.depth) == [0, 1, 2, 2])
        #expect(wrapped[1].uuid == "BBBB2222-1111" && wrapped[1].retryAfter == 340 && wrapped[2].uuid == nil)
        #expect(wrapped[2].message == "Record not found" && wrapped[0].code == nil)
    }

    @Test(arguments: [
        (
            "<CKError: “Change Token Expired” (21/2026); server message = “client knowledge differs from server knowledge”>",
            21
        ),
        ("The operation couldn’t be completed. (CKErrorDomain error 27.)", 27),
        ("Error Domain=CKErrorDomain Code=4 \"(null)\"", 4),
        ("CKError 36", 36), ("error code: 9", 9), ("21", 21), ("it ended with .changeTokenExpired today", 21),
        ("CKErrorZoneNotFound", 26),
        ("\"Limit Exceeded\" again", 27), ("case participantAlreadyInvited", 37),
    ])
    func codesAreFoundInSurroundingText(text: String, number: Int) {
        #expect(ErrorText(text).errors.map(\.code?.number) == [number])
    }

    @Test func answersOfTheServerAreRead() {
        let whole = ErrorText(
            "{\"uuid\":\"6f2c-1\",\"serverErrorCode\":\"THROTTLED\",\"reason\":\"slow \\\"down\\\"\",\"retryAfter\":12}"
        ).errors
        #expect(whole.count == 1 && whole[0].code?.name == "THROTTLED" && whole[0].uuid == "6f2c-1")
        #expect(whole[0].message == "slow \"down\"" && whole[0].retryAfter == 12)
        let items = ErrorText(
            """
            {"records":[{"recordName":"a","recordType":"Note"},{"recordName":"b","reason":"client oplock error updating record","serverErrorCode":"CONFLICT"},
            {"recordName":"c","reason":"x","serverErrorCode":"ATOMIC_ERROR"}],"zones":[{"zoneID":{"zoneName":"Z"},"serverErrorCode":"ZONE_NOT_FOUND","reason":"Zone does not exist"}]}
            """
        ).errors
        #expect(items.map(\.name) == ["CONFLICT", "ATOMIC_ERROR", "ZONE_NOT_FOUND"])
        #expect(items.map(\.subject) == ["b", "c", "Z"])
        #expect(items[0].knownReason != nil)
        let library = ErrorText(
            "{_ckErrorCode: \"NOT_FOUND\", _uuid: \"u1\", _reason: \"Zone does not exist\", _serverErrorCode: \"ZONE_NOT_FOUND\"}"
        ).errors
        #expect(library.map(\.name) == ["ZONE_NOT_FOUND"] && library[0].uuid == "u1")
    }

    @Test func aSentenceAloneIsEnough() throws {
        let error = try #require(ErrorText("Field 'recordName' is not marked queryable").errors.first)
        #expect(error.code == nil && error.knownReason?.remedy.contains("___recordID") == true)
        #expect(ErrorText("nothing of that kind").isEmpty && ErrorText("").isEmpty)
        #expect(ErrorText(String(repeating: "a", count: ErrorText.limit + 1)).isTooLong)
    }

    // MARK: Other forms

    @Test func anNSErrorKeepsItsServerMessage() throws {
        let errors = ErrorText(
            """
            Error Domain=CKErrorDomain Code=12 "Error saving record <CKRecordID: 0x600; recordName=a1, zoneID=Z:__defaultOwner__> to server: (null)" UserInfo={NSLocalizedDescription=Error saving record <CKRecordID: 0x600; recordName=a1, zoneID=Z:__defaultOwner__> to server: (null), ServerErrorDescription=invalid attempt to set value type STRING for field 'size' for type 'Note', defined to be: REFERENCE, CKHTTPStatus=200, ContainerID=iCloud.com.example.App, RequestUUID=AAAA1111-2222, CKRetryAfter=7, NSUnderlyingError=0x600 {Error Domain=CKInternalErrorDomain Code=2006 "(null)" UserInfo={CKErrorDescription=x}}}
            """
        ).errors
        #expect(errors.map(\.number) == [12, 2006] && errors.map(\.depth) == [0, 1])
        #expect(
            errors[0].message
                == "invalid attempt to set value type STRING for field 'size' for type 'Note', defined to be: REFERENCE"
        )
        #expect(
            errors[0].knownReason == .wrongValueType && errors[0].uuid == "AAAA1111-2222" && errors[0].retryAfter == 7)
        #expect(
            errors[0].internalCode?.number == 2006 && errors[1].code?.family == .internal
                && errors[0].container == "iCloud.com.example.App")
    }

    @Test func theMessageOfTheInternalErrorIsTheErrors() throws {
        let errors = ErrorText(
            """
            Error Domain=CKErrorDomain Code=15 "(null)" UserInfo=0x14e6 {
                NSUnderlyingError = "Error Domain=CKInternalErrorDomain Code=2000 \\"Error fetching record from server: Internal server error\\" UserInfo={
                    ContainerID = \\"iCloud.com.example.App\\";
                    RequestUUID = \\"BBBB2222-1111\\";
                    ServerErrorDescription = \\"Internal server error\\";
                }";
            }
            """
        ).errors
        #expect(errors.map(\.number) == [15, 2000])
        #expect(
            errors[0].knownReason == .internalServerError && errors[0].uuid == "BBBB2222-1111"
                && errors[0].internalCode?.name == "internal server error")
    }

    @Test func swiftsOwnFormsAreRead() {
        let partial = ErrorText(
            """
            CKError(_nsError: Error Domain=CKErrorDomain Code=2 "Failed to modify some records" UserInfo={CKPartialErrors=[<CKRecordID: 0x6; recordName=r1, zoneID=Z:__defaultOwner__>: <CKError 0x7: "Server Record Changed" (14/2004); server message = "client oplock error updating record">]})
            """
        ).errors
        #expect(partial.map(\.number) == [2, 14] && partial.map(\.subject) == [nil, "r1"])
        #expect(partial.map(\.knownReason) == [.itemsFailed, .staleTag])
        for (text, number) in [
            ("CKErrorCode(rawValue: 15)", 15), ("CKError.Code(rawValue: 26)", 26), ("(CKErrorDomain-Fehler 9.)", 9),
            ("CKErrorDomainエラー25", 25),
            ("L’opération n’a pas pu s’achever. (Erreur CKErrorDomain 4.)", 4),
            ("<CKError 0x6: \"Teilweise fehlgeschlagen\" (2/1011)>", 2),
        ] {
            #expect(ErrorText(text).errors.first?.code?.number == number, "\(text)")
        }
    }

    @Test(arguments: [
        (
            "<CKError 0x1: \"Permission Failure\" (10/2007); server message = \"Invalid bundle ID for container\">",
            KnownReason.badBundle
        ),
        (
            "<CKError 0x1: \"Invalid Arguments\" (12/2006); server message = \"PrivateDB can't be used to access another user's zone\">",
            .otherUsersZone
        ),
        ("recordType (A.B) contains invalid characters", .badTypeName),
        ("recordName (aaaa…) is too long", .longRecordName),
        (
            "{\"serverErrorCode\":\"INTERNAL_ERROR\",\"reason\":\"could not find subscription we just created\"}",
            .duplicateSubscription
        ),
        (
            "{\"serverErrorCode\":\"ACCESS_DENIED\",\"reason\":\"private db access disabled for this account\"}",
            .privateDenied
        ),
        ("cannot add collapseId to this subscription type", .collapseIDRefused),
        ("Cannot share - no such record exists to share", .noRootToShare),
        (
            "Error saving record subscription with id s1 to server: attempting to create a subscription in a production container",
            .subscriptionInProduction
        ),
        (
            "<CKError 0x2: \"Account Temporarily Unavailable\" (36/1029); \"Account temporarily unavailable due to bad or missing auth token\">",
            .badAuthToken
        ),
        (
            "Error Domain=NSCocoaErrorDomain Code=134400 \"Unable to initialize without an iCloud account (CKAccountStatusNoAccount).\"",
            .noAccountForCoreData
        ),
        (
            "<CKError 0x3: \"Limit Exceeded\" (27/2023); server message = \"Query filter exceeds the limit of values: 250 for container 'iCloud.a'\">",
            .tooManyFilterValues
        ),
    ])
    func messagesAreExplained(text: String, known: KnownReason) {
        #expect(ErrorText(text).errors.last?.knownReason == known)
    }

    @Test func manyErrorsAndEndlessBracketsAreBounded() {
        let many =
            "{" + (0..<600).map { "r\($0) = <CKError 0x1: \"Zone Busy\" (23/2009)>" }.joined(separator: ", ") + "}"
        let text = ErrorText(many)
        #expect(text.errors.count == ErrorText.errorLimit && text.isCut)
        let deep = String(repeating: "<CKError 0x1: \"Partial Failure\" (2/1011); partial errors: {a = ", count: 300)
        #expect(ErrorText(deep).errors.count == ErrorText.errorLimit)
        #expect(ErrorText(String(repeating: "{<\"", count: 20_000)).isEmpty)
    }

    @Test func everyCodeIsThereOnce() {
        #expect(ErrorCode.framework.map(\.number) == Array(1...37))
        let all = ErrorCode.framework + ErrorCode.server + ErrorCode.javaScript + ErrorCode.internal
        #expect(Set(all.map { "\($0.family) \($0.name)" }).count == all.count)
        for code in all {
            #expect(code.meaning.hasSuffix(".") && code.remedy.hasSuffix("."), "\(code.name)")
            if code.family == .framework, let number = code.number {
                #expect(ErrorCode.frameworkNamed(code.title)?.number == number)
            }
        }
        #expect(ErrorCode.framework(21)?.title == "Change Token Expired" && ErrorCode.framework(0) == nil)
    }
}
