import Foundation
import TestSupport
import Testing

@testable import skylight

/// Passwords of databases: all users of a machine can see the arguments of a program, and errors end up in logs.
@Suite struct StoreAddressTests {
    @Test(arguments: [
        "postgres://u:hush@db1/x", "postgresql://u:hush@/x?host=/run/postgresql", "postgres://:hush@db1/x",
        // Several hosts, and passwords with letters that should be in percent-encoding.
        "postgres://u:hush@db1:5432,db2:5432/x?target_session_attrs=read-write",
        "postgres://u:hush@[::1]:5432,[::2]:5432/x", "postgres://u:hush/a@db1/x",
        "postgres://u:a@hush@db1/x", "postgres://u:50%hush@db1/x", "postgres://u:hush?a=b@db1/x",
        "postgres://u@corp:hush@db1/x",
        // As a parameter, whose name may be in percent-encoding.
        "postgres://u@db1/x?password=hush", "postgres://u@db1/x?sslmode=require&p%61ssword=hush",
        "postgres://u@db1/x?sslpassword=hush",
    ])
    func anAddressWithAPasswordIsRefused(address: String) {
        #expect(throws: (any Error).self) { try StoreAddress.check(address, in: "--store") }
    }

    @Test(arguments: [
        "postgres://skylight@localhost/skylight",
        "postgres://skylight@db1,db2,db3/skylight?target_session_attrs=read-write",
        "postgres://skylight@/x?host=/run/postgresql",
        "postgres://skylight@db1:5432,[::1]:5433/x", "postgresql://db1:5432/x?user=u%40corp", "postgres:///x",
        "postgres://u%3Aa@db1:5432/x",
    ])
    func anAddressWithoutOneIsNot(address: String) throws { try StoreAddress.check(address, in: "--store") }

    /// `move` takes what is no address for a folder, which it would name in its error, or make.
    @Test(arguments: [
        "postgres://u:hush@db1:5432,db2:5432/x", "host=db1 user=u password=hush dbname=x", "host=db1 password = 'hush'",
        "POSTGRES://u:hush@db1/x",
    ])
    func noOptionHasAPassword(place: String) async throws {
        let folder = try TemporaryFolder()
        var commands = [
            ["move", "--from", place, "--to", "postgres://u@127.0.0.1:1/x"],
            ["move", "--from", folder.url.path(percentEncoded: false), "--to", place],
        ]
        if StoreAddress.isOne(place) {
            commands.append(["zone", "list", "--container", "iCloud.com.example.X", "--store", place])
        }
        for command in commands {
            let result = try await Command.run(command)
            #expect(result.status == 64)
            #expect(
                result.errors.replacing(/\s+/, with: " ").contains("must not have the password"), "\(result.errors)")
            #expect(!(result.output + result.errors).contains("hush"), "\(result.errors)")
        }
    }

    /// libpq would repeat them.
    @Test(arguments: [
        "postgres://u:50%hush@127.0.0.1:1/x", "postgres://u:a@hush@127.0.0.1:1/x", "postgres://u:hush@[::1]x/y",
        "postgres://u:hush/a@127.0.0.1:1/x", "hush",
        "host=127.0.0.1 port=1 password=my hush", "postgres://u:hush@127.0.0.1:1/x",
    ])
    func noErrorShowsThePasswordOfTheEnvironment(address: String) async throws {
        let folder = try TemporaryFolder()
        let data = folder.url.appending(path: "data").path(percentEncoded: false)
        try FileManager.default.createDirectory(atPath: data, withIntermediateDirectories: true)
        let result = try await Command.run(
            ["zone", "list", "--container", "iCloud.com.example.X", "--data", data],
            environment: ["SKYLIGHT_STORE": address])
        #expect(result.status == 69, "\(result.errors)")
        #expect(!(result.output + result.errors).contains("hush"), "\(result.errors)")
    }
}
