import Testing
import Workbench

@Suite struct ErrorTextTests {
    @Test func aDescriptionIsRead() throws {
        let errors = ErrorText(
            """
            2026-11-20 save failed: Optional(<CKError 0x17d38520: "Server Rejected Request" (15/2000); server message = "Internal server error"; op = CBDA290480B8DCFA; uuid = 656C1EA8-A74E-4A4D-BACD-AE9B3AD9CFAE; container ID = "iCloud.com.example.App">) after 3 s
            """).errors
        let error = try #require(errors.first)
        #expect(errors.count == 1)
        #expect(error.number == 15 && error.internalNumber == 2000 && error.name == "Server Rejected Request" && error.domain == "CKErrorDomain")
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
            """).errors
        #expect(errors.map(\.number) == [2, 12, 14])
        #expect(errors.map(\.depth) == [0, 1, 1])
        #expect(errors.map(\.subject) == [nil, "A95663E0", "B1"])
        #expect(errors[0].message == "Failed to modify some records" && errors[0].uuid == "AAAA1111-0000")
        #expect(errors[1].message == "Cannot create or modify field 'CD_deviceID' in record 'CD_Session' in production schema")
        #expect(errors[1].knownReason?.remedy.contains("deploy the schema") == true)
        #expect(errors[2].clientTag == "1g" && errors[2].serverTag == "1h")
    }

    @Test func itemsInALineAndInAnNSErrorAreToldApart() {
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
            """).errors
        #expect(wrapped.map(\.domain) == ["NSCocoaErrorDomain", "CKErrorDomain", "CKErrorDomain", "CKErrorDomain"])
        #expect(wrapped.map(\.number) == [134_406, 2, 11, 25])
        #expect(wrapped.map(\.subject) == [nil, nil, "Message/m1", "m2"])
        #expect(wrapped.map(\.depth) == [0, 1, 2, 2])
        #expect(wrapped[1].uuid == "BBBB2222-1111" && wrapped[1].retryAfter == 340 && wrapped[2].uuid == nil)
        #expect(wrapped[2].message == "Record not found" && wrapped[0].code == nil)
    }

    @Test(arguments: [
        ("<CKError: “Change Token Expired” (21/2026); server message = “client knowledge differs from server knowledge”>", 21),
        ("The operation couldn’t be completed. (CKErrorDomain error 27.)", 27), ("Error Domain=CKErrorDomain Code=4 \"(null)\"", 4),
        ("CKError 36", 36), ("error code: 9", 9), ("21", 21), ("it ended with .changeTokenExpired today", 21), ("CKErrorZoneNotFound", 26),
        ("\"Limit Exceeded\" again", 27), ("case participantAlreadyInvited", 37),
    ])
    func codesAreFoundInSurroundingText(text: String, number: Int) {
        #expect(ErrorText(text).errors.map(\.code?.number) == [number])
    }

    @Test func answersOfTheServerAreRead() {
        let whole = ErrorText("{\"uuid\":\"6f2c-1\",\"serverErrorCode\":\"THROTTLED\",\"reason\":\"slow \\\"down\\\"\",\"retryAfter\":12}").errors
        #expect(whole.count == 1 && whole[0].code?.name == "THROTTLED" && whole[0].uuid == "6f2c-1")
        #expect(whole[0].message == "slow \"down\"" && whole[0].retryAfter == 12)
        let items = ErrorText(
            """
            {"records":[{"recordName":"a","recordType":"Note"},{"recordName":"b","reason":"client oplock error updating record","serverErrorCode":"CONFLICT"},
            {"recordName":"c","reason":"x","serverErrorCode":"ATOMIC_ERROR"}],"zones":[{"zoneID":{"zoneName":"Z"},"serverErrorCode":"ZONE_NOT_FOUND","reason":"Zone does not exist"}]}
            """).errors
        #expect(items.map(\.name) == ["CONFLICT", "ATOMIC_ERROR", "ZONE_NOT_FOUND"])
        #expect(items.map(\.subject) == ["b", "c", "Z"])
        #expect(items[0].knownReason != nil)
        let library = ErrorText("{_ckErrorCode: \"NOT_FOUND\", _uuid: \"u1\", _reason: \"Zone does not exist\", _serverErrorCode: \"ZONE_NOT_FOUND\"}").errors
        #expect(library.map(\.name) == ["ZONE_NOT_FOUND"] && library[0].uuid == "u1")
    }

    @Test func aSentenceAloneIsEnough() throws {
        let error = try #require(ErrorText("Field 'recordName' is not marked queryable").errors.first)
        #expect(error.code == nil && error.knownReason?.remedy.contains("___recordID") == true)
        #expect(ErrorText("nothing of that kind").isEmpty && ErrorText("").isEmpty)
        #expect(ErrorText(String(repeating: "a", count: ErrorText.limit + 1)).isTooLong)
    }

    @Test func manyErrorsAndEndlessBracketsAreBounded() {
        let many = "{" + (0..<600).map { "r\($0) = <CKError 0x1: \"Zone Busy\" (23/2009)>" }.joined(separator: ", ") + "}"
        let text = ErrorText(many)
        #expect(text.errors.count == ErrorText.errorLimit && text.isCut)
        let deep = String(repeating: "<CKError 0x1: \"Partial Failure\" (2/1011); partial errors: {a = ", count: 300)
        #expect(ErrorText(deep).errors.count == ErrorText.errorLimit)
        #expect(ErrorText(String(repeating: "{<\"", count: 20_000)).isEmpty)
    }

    @Test func everyCodeIsThereOnce() {
        #expect(ErrorCode.framework.map(\.number) == Array(1...37))
        let all = ErrorCode.framework + ErrorCode.server + ErrorCode.javaScript
        #expect(Set(all.map { "\($0.family) \($0.name)" }).count == all.count)
        for code in all {
            #expect(code.meaning.hasSuffix(".") && code.remedy.hasSuffix("."), "\(code.name)")
            if let number = code.number { #expect(ErrorCode.frameworkNamed(code.title)?.number == number) }
        }
        #expect(ErrorCode.framework(21)?.title == "Change Token Expired" && ErrorCode.framework(0) == nil)
    }
}
