// Package test tests the whole program: it builds snip, runs it as its users do, kills
// it, takes its database and its disk away, and then checks its books.
//
// Each request of a test carries its own number, in utm_campaign, which ends up in the
// event that topic "clicks" keeps. So at the end it is known of every single request
// whether it was answered, and how often it was counted.
//
// Variables of the environment:
//
//	SNIP_TORTURE=20            how often the tests with Killed in their name kill, default 3;
//	                           and TestTorture is long, with half as many kills in a cell.
//	SNIP_TORTURE_TABLE=a.md    where TestTorture writes its table, besides showing it.
//	SNIP_TEST_SEED=1234        makes the random choices of an earlier run, which it logged.
//	CI=true                    a test that lacks what it needs fails instead of skipping itself.
package test
