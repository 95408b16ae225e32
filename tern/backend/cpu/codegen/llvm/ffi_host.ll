; SPDX-License-Identifier: Apache-2.0
; Made of ffi_host.c by tools/make_linked_ir.sh.

%struct.TernEnv = type { i32, i32, ptr, ptr, ptr, ptr, ptr, ptr }
%struct.Text = type { i64, [1500 x i8] }
%struct.TernAny = type { i32, i32, %union.anon }
%union.anon = type { i64 }
%struct.Loop = type { ptr, ptr, ptr }

@.str = private unnamed_addr constant [5 x i8] c"none\00", align 1
@.str.1 = private unnamed_addr constant [5 x i8] c"int \00", align 1
@.str.2 = private unnamed_addr constant [10 x i8] c"bool true\00", align 1
@.str.3 = private unnamed_addr constant [11 x i8] c"bool false\00", align 1
@.str.4 = private unnamed_addr constant [6 x i8] c"float\00", align 1
@.str.5 = private unnamed_addr constant [8 x i8] c"pointer\00", align 1
@.str.6 = private unnamed_addr constant [4 x i8] c"str\00", align 1
@.str.7 = private unnamed_addr constant [15 x i8] c"value of type \00", align 1
@.str.8 = private unnamed_addr constant [19 x i8] c" tensor of shape (\00", align 1
@.str.9 = private unnamed_addr constant [3 x i8] c", \00", align 1
@.str.10 = private unnamed_addr constant [7 x i8] c",) on \00", align 1
@.str.11 = private unnamed_addr constant [6 x i8] c") on \00", align 1
@.str.12 = private unnamed_addr constant [5 x i8] c"cpu:\00", align 1
@.str.13 = private unnamed_addr constant [8 x i8] c"device \00", align 1
@.str.14 = private unnamed_addr constant [2 x i8] c":\00", align 1
@.str.15 = private unnamed_addr constant [4 x i8] c"int\00", align 1
@.str.16 = private unnamed_addr constant [5 x i8] c"uint\00", align 1
@.str.17 = private unnamed_addr constant [7 x i8] c"bfloat\00", align 1
@.str.18 = private unnamed_addr constant [5 x i8] c"bool\00", align 1
@.str.19 = private unnamed_addr constant [29 x i8] c"TVMFFIErrorSetRaisedFromCStr\00", align 1
@.str.20 = private unnamed_addr constant [77 x i8] c"an error of compiled code cannot be raised, as libtvm_ffi.so is not loaded: \00", align 1
@.str.21 = private unnamed_addr constant [2 x i8] c"\0A\00", align 1
@.str.22 = private unnamed_addr constant [6 x i8] c"write\00", align 1
@.str.23 = private unnamed_addr constant [6 x i8] c"abort\00", align 1
@.str.24 = private unnamed_addr constant [14 x i8] c"libtvm_ffi.so\00", align 1
@call_import.kAnchor = internal constant i8 0, align 1
@.str.25 = private unnamed_addr constant [13 x i8] c"RuntimeError\00", align 1
@.str.26 = private unnamed_addr constant [1 x i8] zeroinitializer, align 1
@.str.27 = private unnamed_addr constant [17 x i8] c"tern_call_import\00", align 1
@.str.28 = private unnamed_addr constant [21 x i8] c"compiled code calls \00", align 1
@.str.29 = private unnamed_addr constant [99 x i8] c", for which it needs libtern_runtime.so: it is neither on the library path nor beside this library\00", align 1
@.str.30 = private unnamed_addr constant [19 x i8] c"libtern_runtime.so\00", align 1
@.str.31 = private unnamed_addr constant [14 x i8] c"aligned_alloc\00", align 1
@.str.32 = private unnamed_addr constant [21 x i8] c"tern_alloc_workspace\00", align 1
@.str.33 = private unnamed_addr constant [18 x i8] c"tern_parallel_for\00", align 1
@.str.34 = private unnamed_addr constant [21 x i8] c"TVMFFIErrorSetRaised\00", align 1
@.str.35 = private unnamed_addr constant [19 x i8] c"TVMFFIObjectDecRef\00", align 1
@.str.36 = private unnamed_addr constant [23 x i8] c"a parallel loop failed\00", align 1
@.str.37 = private unnamed_addr constant [26 x i8] c"TVMFFIErrorMoveFromRaised\00", align 1
@.str.38 = private unnamed_addr constant [5 x i8] c"free\00", align 1
@.str.39 = private unnamed_addr constant [20 x i8] c"tern_free_workspace\00", align 1
@switch.table.add_tensor.rel = private unnamed_addr constant [7 x i32] [i32 trunc (i64 sub (i64 ptrtoint (ptr @.str.15 to i64), i64 ptrtoint (ptr @switch.table.add_tensor.rel to i64)) to i32), i32 trunc (i64 sub (i64 ptrtoint (ptr @.str.16 to i64), i64 ptrtoint (ptr @switch.table.add_tensor.rel to i64)) to i32), i32 trunc (i64 sub (i64 ptrtoint (ptr @.str.4 to i64), i64 ptrtoint (ptr @switch.table.add_tensor.rel to i64)) to i32), i32 trunc (i64 sub (i64 ptrtoint (ptr @.str.4 to i64), i64 ptrtoint (ptr @switch.table.add_tensor.rel to i64)) to i32), i32 trunc (i64 sub (i64 ptrtoint (ptr @.str.17 to i64), i64 ptrtoint (ptr @switch.table.add_tensor.rel to i64)) to i32), i32 trunc (i64 sub (i64 ptrtoint (ptr @.str.4 to i64), i64 ptrtoint (ptr @switch.table.add_tensor.rel to i64)) to i32), i32 trunc (i64 sub (i64 ptrtoint (ptr @.str.18 to i64), i64 ptrtoint (ptr @switch.table.add_tensor.rel to i64)) to i32)], align 4

define hidden signext i32 @tern_ffi_enter(ptr noundef readonly captures(none) %0, ptr noundef %1, i32 noundef signext %2, ptr noundef %3) local_unnamed_addr #0 {
  %5 = alloca ptr, align 8
  %6 = alloca %struct.TernEnv, align 8
  call void @llvm.lifetime.start.p0(ptr nonnull %5) #11
  store ptr null, ptr %5, align 8
  call void @llvm.lifetime.start.p0(ptr nonnull %6) #11
  store i32 56, ptr %6, align 8
  %7 = getelementptr inbounds nuw i8, ptr %6, i64 4
  store i32 1, ptr %7, align 4
  %8 = getelementptr inbounds nuw i8, ptr %6, i64 8
  store ptr %5, ptr %8, align 8
  %9 = getelementptr inbounds nuw i8, ptr %6, i64 16
  store ptr @raise_error, ptr %9, align 8
  %10 = getelementptr inbounds nuw i8, ptr %6, i64 24
  store ptr @call_import, ptr %10, align 8
  %11 = getelementptr inbounds nuw i8, ptr %6, i64 32
  store ptr @alloc_workspace, ptr %11, align 8
  %12 = getelementptr inbounds nuw i8, ptr %6, i64 40
  store ptr @free_workspace, ptr %12, align 8
  %13 = getelementptr inbounds nuw i8, ptr %6, i64 48
  store ptr @parallel_for, ptr %13, align 8
  %14 = call signext i32 %0(ptr noundef nonnull %6, ptr noundef %1, i32 noundef signext %2, ptr noundef %3) #12
  br label %15

15:
  %16 = load ptr, ptr %5, align 8
  %17 = icmp eq ptr %16, null
  br i1 %17, label %19, label %18

18:
  call fastcc void @free_block(ptr noundef nonnull %5) #13
  br label %15

19:
  call void @llvm.lifetime.end.p0(ptr nonnull %6) #11
  call void @llvm.lifetime.end.p0(ptr nonnull %5) #11
  ret i32 %14
}

declare void @llvm.lifetime.start.p0(ptr captures(none)) #1

define internal fastcc void @free_block(ptr noundef captures(none) %0) unnamed_addr #0 {
  %2 = load ptr, ptr %0, align 8
  %3 = tail call fastcc i64 @find_anywhere(ptr noundef nonnull @.str.38) #13
  %4 = inttoptr i64 %3 to ptr
  %5 = load ptr, ptr %2, align 8
  store ptr %5, ptr %0, align 8
  %6 = getelementptr inbounds nuw i8, ptr %2, i64 16
  %7 = load i32, ptr %6, align 8
  %8 = icmp eq i32 %7, 1
  br i1 %8, label %21, label %9

9:
  %10 = tail call fastcc i64 @find_in_runtime(ptr noundef nonnull @.str.39) #13
  %11 = inttoptr i64 %10 to ptr
  %12 = icmp eq i64 %10, 0
  br i1 %12, label %21, label %13

13:
  %14 = getelementptr inbounds nuw i8, ptr %2, i64 8
  %15 = load ptr, ptr %14, align 8
  %16 = icmp eq ptr %15, null
  br i1 %16, label %21, label %17

17:
  %18 = load i32, ptr %6, align 8
  %19 = getelementptr inbounds nuw i8, ptr %2, i64 20
  %20 = load i32, ptr %19, align 4
  tail call void %11(i32 noundef signext %18, i32 noundef signext %20, ptr noundef nonnull %15) #12
  br label %21

21:
  %22 = icmp eq i64 %3, 0
  br i1 %22, label %24, label %23

23:
  tail call void %4(ptr noundef nonnull %2) #12
  br label %24

24:
  ret void
}

declare void @llvm.lifetime.end.p0(ptr captures(none)) #1

define internal void @raise_error(ptr readnone captures(none) %0, ptr noundef %1, ptr noundef readonly captures(none) %2, i32 noundef signext %3) #0 {
  %5 = alloca %struct.Text, align 8
  call void @llvm.lifetime.start.p0(ptr nonnull %5) #11
  call void @llvm.memset.p0.i64(ptr noundef nonnull align 8 dereferenceable(1512) %5, i8 0, i64 1512, i1 false)
  %6 = tail call i32 @llvm.smax.i32(i32 %3, i32 0)
  %7 = zext nneg i32 %6 to i64
  br label %8

8:
  %9 = phi i64 [ %27, %26 ], [ 0, %4 ]
  %10 = icmp eq i64 %9, %7
  br i1 %10, label %11, label %13

11:
  %12 = getelementptr inbounds nuw i8, ptr %5, i64 8
  call fastcc void @set_error(ptr noundef %1, ptr noundef nonnull %12) #13
  call void @llvm.lifetime.end.p0(ptr nonnull %5) #11
  ret void

13:
  %14 = getelementptr inbounds nuw %struct.TernAny, ptr %2, i64 %9
  %15 = load i32, ptr %14, align 8
  switch i32 %15, label %25 [
    i32 8, label %16
    i32 1, label %19
    i32 4, label %22
  ]

16:
  %17 = getelementptr inbounds nuw i8, ptr %14, i64 8
  %18 = load ptr, ptr %17, align 8
  call fastcc void @add(ptr noundef %5, ptr noundef %18) #13
  br label %26

19:
  %20 = getelementptr inbounds nuw i8, ptr %14, i64 8
  %21 = load i64, ptr %20, align 8
  call fastcc void @add_int(ptr noundef %5, i64 noundef %21) #13
  br label %26

22:
  %23 = getelementptr inbounds nuw i8, ptr %14, i64 8
  %24 = load ptr, ptr %23, align 8
  call fastcc void @add_value(ptr noundef %5, ptr noundef %24) #13
  br label %26

25:
  call fastcc void @add_value(ptr noundef %5, ptr noundef nonnull %14) #13
  br label %26

26:
  %27 = add nuw nsw i64 %9, 1
  br label %8
}

define internal signext range(i32 -1, 1) i32 @call_import(ptr readnone captures(none) %0, ptr noundef %1, ptr noundef %2, i32 noundef signext %3, ptr noundef %4) #0 {
  %6 = alloca ptr, align 8
  %7 = alloca ptr, align 8
  %8 = alloca %struct.Text, align 8
  call void @llvm.lifetime.start.p0(ptr nonnull %6) #11
  store ptr @.str.25, ptr %6, align 8
  call void @llvm.lifetime.start.p0(ptr nonnull %7) #11
  store ptr @.str.26, ptr %7, align 8
  %9 = tail call fastcc i64 @find_in_runtime(ptr noundef nonnull @.str.27) #13
  %10 = icmp eq i64 %9, 0
  br i1 %10, label %11, label %13

11:
  call void @llvm.lifetime.start.p0(ptr nonnull %8) #11
  call void @llvm.memset.p0.i64(ptr noundef nonnull align 8 dereferenceable(1512) %8, i8 0, i64 1512, i1 false)
  call fastcc void @add(ptr noundef %8, ptr noundef nonnull @.str.28) #13
  call fastcc void @add(ptr noundef %8, ptr noundef %1) #13
  call fastcc void @add(ptr noundef %8, ptr noundef nonnull @.str.29) #13
  %12 = getelementptr inbounds nuw i8, ptr %8, i64 8
  call fastcc void @set_error(ptr noundef nonnull @.str.25, ptr noundef nonnull %12) #13
  call void @llvm.lifetime.end.p0(ptr nonnull %8) #11
  br label %20

13:
  %14 = inttoptr i64 %9 to ptr
  %15 = call signext i32 %14(ptr noundef nonnull @call_import.kAnchor, ptr noundef %1, ptr noundef %2, i32 noundef signext %3, ptr noundef %4, ptr noundef nonnull %6, ptr noundef nonnull %7) #12
  %16 = icmp eq i32 %15, 0
  br i1 %16, label %20, label %17

17:
  %18 = load ptr, ptr %6, align 8
  %19 = load ptr, ptr %7, align 8
  call fastcc void @set_error(ptr noundef %18, ptr noundef %19) #13
  br label %20

20:
  %21 = phi i32 [ -1, %11 ], [ -1, %17 ], [ 0, %13 ]
  call void @llvm.lifetime.end.p0(ptr nonnull %7) #11
  call void @llvm.lifetime.end.p0(ptr nonnull %6) #11
  ret i32 %21
}

define internal ptr @alloc_workspace(ptr noundef readonly captures(none) %0, i32 noundef signext %1, i32 noundef signext %2, i64 noundef %3, i64 noundef %4) #0 {
  %6 = getelementptr inbounds nuw i8, ptr %0, i64 8
  %7 = load ptr, ptr %6, align 8
  %8 = tail call i64 @llvm.smax.i64(i64 %4, i64 64)
  %9 = icmp eq i32 %1, 1
  br i1 %9, label %10, label %15

10:
  %11 = add i64 %3, -1
  %12 = add i64 %11, %8
  %13 = urem i64 %12, %8
  %14 = sub nuw i64 %12, %13
  br label %15

15:
  %16 = phi i64 [ %14, %10 ], [ 0, %5 ]
  %17 = tail call fastcc i64 @find_anywhere(ptr noundef nonnull @.str.31) #13
  %18 = icmp sgt i64 %3, -1
  %19 = icmp ne i64 %17, 0
  %20 = select i1 %18, i1 %19, i1 false
  br i1 %20, label %21, label %46

21:
  %22 = inttoptr i64 %17 to ptr
  %23 = add i64 %16, %8
  %24 = tail call ptr %22(i64 noundef %8, i64 noundef %23) #12
  %25 = icmp eq ptr %24, null
  br i1 %25, label %46, label %26

26:
  %27 = load ptr, ptr %7, align 8
  store ptr %27, ptr %24, align 8
  %28 = getelementptr inbounds nuw i8, ptr %24, i64 16
  store i32 %1, ptr %28, align 8
  %29 = getelementptr inbounds nuw i8, ptr %24, i64 20
  store i32 %2, ptr %29, align 4
  br i1 %9, label %30, label %32

30:
  %31 = getelementptr inbounds nuw i8, ptr %24, i64 %8
  br label %40

32:
  %33 = tail call fastcc i64 @find_in_runtime(ptr noundef nonnull @.str.32) #13
  %34 = icmp eq i64 %33, 0
  br i1 %34, label %40, label %35

35:
  %36 = inttoptr i64 %33 to ptr
  %37 = load i32, ptr %28, align 8
  %38 = load i32, ptr %29, align 4
  %39 = tail call ptr %36(i32 noundef signext %37, i32 noundef signext %38, i64 noundef range(i64 0, -9223372036854775808) %3, i64 noundef %4) #12
  br label %40

40:
  %41 = phi ptr [ %31, %30 ], [ %39, %35 ], [ %24, %32 ]
  %42 = getelementptr inbounds nuw i8, ptr %24, i64 8
  store ptr %41, ptr %42, align 8
  store ptr %24, ptr %7, align 8
  %43 = load ptr, ptr %42, align 8
  %44 = icmp eq ptr %43, null
  br i1 %44, label %45, label %46

45:
  tail call fastcc void @free_block(ptr noundef nonnull %7) #13
  br label %46

46:
  %47 = phi ptr [ null, %21 ], [ null, %45 ], [ null, %15 ], [ %43, %40 ]
  ret ptr %47
}

define internal void @free_workspace(ptr noundef readonly captures(none) %0, i32 noundef signext %1, i32 noundef signext %2, ptr noundef readnone captures(address) %3) #0 {
  %5 = getelementptr inbounds nuw i8, ptr %0, i64 8
  %6 = load ptr, ptr %5, align 8
  br label %7

7:
  %8 = phi ptr [ %6, %4 ], [ %9, %19 ]
  %9 = load ptr, ptr %8, align 8
  %10 = icmp eq ptr %9, null
  br i1 %10, label %25, label %11

11:
  %12 = getelementptr inbounds nuw i8, ptr %9, i64 8
  %13 = load ptr, ptr %12, align 8
  %14 = icmp eq ptr %13, %3
  br i1 %14, label %15, label %19

15:
  %16 = getelementptr inbounds nuw i8, ptr %9, i64 16
  %17 = load i32, ptr %16, align 8
  %18 = icmp eq i32 %17, %1
  br i1 %18, label %20, label %19

19:
  br label %7

20:
  %21 = getelementptr inbounds nuw i8, ptr %9, i64 20
  %22 = load i32, ptr %21, align 4
  %23 = icmp eq i32 %22, %2
  br i1 %23, label %24, label %19

24:
  tail call fastcc void @free_block(ptr noundef nonnull %8) #13
  br label %25

25:
  ret void
}

define internal signext i32 @parallel_for(ptr noundef %0, ptr noundef %1, i64 noundef %2, ptr noundef %3) #0 {
  %5 = alloca %struct.Loop, align 8
  call void @llvm.lifetime.start.p0(ptr nonnull %5) #11
  store ptr %1, ptr %5, align 8
  %6 = getelementptr inbounds nuw i8, ptr %5, i64 8
  store ptr %3, ptr %6, align 8
  %7 = getelementptr inbounds nuw i8, ptr %5, i64 16
  store ptr null, ptr %7, align 8
  %8 = tail call fastcc i64 @find_in_runtime(ptr noundef nonnull @.str.33) #13
  %9 = tail call fastcc i64 @find_in_host(ptr noundef nonnull @.str.34) #13
  %10 = inttoptr i64 %9 to ptr
  %11 = tail call fastcc i64 @find_in_host(ptr noundef nonnull @.str.35) #13
  %12 = inttoptr i64 %11 to ptr
  %13 = icmp ne i64 %8, 0
  %14 = icmp ne i64 %9, 0
  %15 = select i1 %13, i1 %14, i1 false
  br i1 %15, label %20, label %16

16:
  %17 = icmp sgt i64 %2, 0
  br i1 %17, label %18, label %33

18:
  %19 = tail call signext i32 %1(ptr noundef %0, i64 noundef 0, i64 noundef %2, ptr noundef %3) #12
  br label %33

20:
  %21 = inttoptr i64 %8 to ptr
  %22 = call signext i32 %21(i64 noundef %2, ptr noundef nonnull @run_piece, ptr noundef nonnull %5) #12
  %23 = icmp eq i32 %22, 0
  br i1 %23, label %33, label %24

24:
  %25 = load ptr, ptr %7, align 8
  %26 = icmp eq ptr %25, null
  br i1 %26, label %32, label %27

27:
  call void %10(ptr noundef nonnull %25) #12
  %28 = icmp eq i64 %11, 0
  br i1 %28, label %33, label %29

29:
  %30 = load ptr, ptr %7, align 8
  %31 = call signext i32 %12(ptr noundef %30) #12
  br label %33

32:
  call fastcc void @set_error(ptr noundef nonnull @.str.25, ptr noundef nonnull @.str.36) #13
  br label %33

33:
  %34 = phi i32 [ 0, %20 ], [ 0, %16 ], [ %19, %18 ], [ -1, %27 ], [ -1, %29 ], [ -1, %32 ]
  call void @llvm.lifetime.end.p0(ptr nonnull %5) #11
  ret i32 %34
}

declare void @llvm.memset.p0.i64(ptr writeonly captures(none), i8, i64, i1 immarg) #2

define internal fastcc void @add(ptr noundef nonnull captures(none) %0, ptr noundef readonly captures(none) %1) unnamed_addr #3 {
  %3 = getelementptr inbounds nuw i8, ptr %0, i64 8
  %4 = load i64, ptr %0, align 8
  br label %5

5:
  %6 = phi i64 [ %4, %2 ], [ %11, %13 ]
  %7 = phi ptr [ %1, %2 ], [ %14, %13 ]
  %8 = load i8, ptr %7, align 1
  %9 = icmp eq i8 %8, 0
  br i1 %9, label %16, label %10

10:
  %11 = add i64 %6, 1
  %12 = icmp ult i64 %11, 1500
  br i1 %12, label %13, label %16

13:
  %14 = getelementptr inbounds nuw i8, ptr %7, i64 1
  store i64 %11, ptr %0, align 8
  %15 = getelementptr inbounds nuw i8, ptr %3, i64 %6
  store i8 %8, ptr %15, align 1
  br label %5

16:
  %17 = getelementptr inbounds nuw i8, ptr %3, i64 %6
  store i8 0, ptr %17, align 1
  ret void
}

define internal fastcc void @add_int(ptr noundef nonnull captures(none) %0, i64 noundef %1) unnamed_addr #3 {
  %3 = alloca [24 x i8], align 1
  call void @llvm.lifetime.start.p0(ptr nonnull %3) #11
  %4 = getelementptr inbounds nuw i8, ptr %3, i64 23
  %5 = tail call i64 @llvm.abs.i64(i64 %1, i1 false)
  store i8 0, ptr %4, align 1
  br label %6

6:
  %7 = phi ptr [ %4, %2 ], [ %15, %6 ]
  %8 = phi i64 [ %5, %2 ], [ %10, %6 ]
  %9 = freeze i64 %8
  %10 = udiv i64 %9, 10
  %11 = mul i64 %10, 10
  %12 = sub i64 %9, %11
  %13 = trunc nuw nsw i64 %12 to i8
  %14 = or disjoint i8 %13, 48
  %15 = getelementptr inbounds i8, ptr %7, i64 -1
  store i8 %14, ptr %15, align 1
  %16 = icmp ult i64 %8, 10
  br i1 %16, label %17, label %6

17:
  %18 = icmp slt i64 %1, 0
  br i1 %18, label %19, label %21

19:
  %20 = getelementptr inbounds i8, ptr %7, i64 -2
  store i8 45, ptr %20, align 1
  br label %21

21:
  %22 = phi ptr [ %20, %19 ], [ %15, %17 ]
  call fastcc void @add(ptr noundef %0, ptr noundef nonnull %22) #13
  call void @llvm.lifetime.end.p0(ptr nonnull %3) #11
  ret void
}

define internal fastcc void @add_value(ptr noundef nonnull captures(none) %0, ptr noundef readonly captures(none) %1) unnamed_addr #4 {
  %3 = load i32, ptr %1, align 8
  switch i32 %3, label %23 [
    i32 0, label %4
    i32 1, label %5
    i32 2, label %8
    i32 3, label %13
    i32 4, label %14
    i32 7, label %15
    i32 8, label %18
    i32 11, label %18
    i32 65, label %18
    i32 70, label %19
  ]

4:
  tail call fastcc void @add(ptr noundef %0, ptr noundef nonnull @.str) #13
  br label %26

5:
  tail call fastcc void @add(ptr noundef %0, ptr noundef nonnull @.str.1) #13
  %6 = getelementptr inbounds nuw i8, ptr %1, i64 8
  %7 = load i64, ptr %6, align 8
  tail call fastcc void @add_int(ptr noundef %0, i64 noundef %7) #13
  br label %26

8:
  %9 = getelementptr inbounds nuw i8, ptr %1, i64 8
  %10 = load i64, ptr %9, align 8
  %11 = icmp eq i64 %10, 0
  %12 = select i1 %11, ptr @.str.3, ptr @.str.2
  tail call fastcc void @add(ptr noundef %0, ptr noundef nonnull %12) #13
  br label %26

13:
  tail call fastcc void @add(ptr noundef %0, ptr noundef nonnull @.str.4) #13
  br label %26

14:
  tail call fastcc void @add(ptr noundef %0, ptr noundef nonnull @.str.5) #13
  br label %26

15:
  %16 = getelementptr inbounds nuw i8, ptr %1, i64 8
  %17 = load ptr, ptr %16, align 8
  tail call fastcc void @add_tensor(ptr noundef %0, ptr noundef %17) #13
  br label %26

18:
  tail call fastcc void @add(ptr noundef %0, ptr noundef nonnull @.str.6) #13
  br label %26

19:
  %20 = getelementptr inbounds nuw i8, ptr %1, i64 8
  %21 = load ptr, ptr %20, align 8
  %22 = getelementptr inbounds nuw i8, ptr %21, i64 24
  tail call fastcc void @add_tensor(ptr noundef %0, ptr noundef nonnull %22) #13
  br label %26

23:
  tail call fastcc void @add(ptr noundef %0, ptr noundef nonnull @.str.7) #13
  %24 = load i32, ptr %1, align 8
  %25 = sext i32 %24 to i64
  tail call fastcc void @add_int(ptr noundef %0, i64 noundef %25) #13
  br label %26

26:
  ret void
}

define internal fastcc void @set_error(ptr noundef %0, ptr noundef %1) unnamed_addr #0 {
  %3 = alloca %struct.Text, align 8
  %4 = tail call fastcc i64 @find_in_host(ptr noundef nonnull @.str.19) #13
  %5 = icmp eq i64 %4, 0
  br i1 %5, label %8, label %6

6:
  %7 = inttoptr i64 %4 to ptr
  tail call void %7(ptr noundef %0, ptr noundef %1) #12
  ret void

8:
  call void @llvm.lifetime.start.p0(ptr nonnull %3) #11
  call void @llvm.memset.p0.i64(ptr noundef nonnull align 8 dereferenceable(1512) %3, i8 0, i64 1512, i1 false)
  call fastcc void @add(ptr noundef %3, ptr noundef nonnull @.str.20) #13
  call fastcc void @add(ptr noundef %3, ptr noundef %1) #13
  call fastcc void @add(ptr noundef %3, ptr noundef nonnull @.str.21) #13
  %9 = tail call fastcc i64 @find_anywhere(ptr noundef nonnull @.str.22) #13
  %10 = icmp eq i64 %9, 0
  br i1 %10, label %16, label %11

11:
  %12 = inttoptr i64 %9 to ptr
  %13 = getelementptr inbounds nuw i8, ptr %3, i64 8
  %14 = load i64, ptr %3, align 8
  %15 = call i64 %12(i32 noundef signext 2, ptr noundef nonnull %13, i64 noundef %14) #12
  br label %16

16:
  %17 = call fastcc i64 @find_anywhere(ptr noundef nonnull @.str.23) #13
  %18 = icmp eq i64 %17, 0
  br i1 %18, label %21, label %19

19:
  %20 = inttoptr i64 %17 to ptr
  call void %20() #12
  br label %21

21:
  call void @llvm.trap()
  unreachable
}

define internal fastcc void @add_tensor(ptr noundef nonnull captures(none) %0, ptr noundef readonly captures(none) %1) unnamed_addr #5 {
  %3 = getelementptr inbounds nuw i8, ptr %1, i64 20
  %4 = load i8, ptr %3, align 4
  %5 = icmp ult i8 %4, 7
  br i1 %5, label %6, label %10

6:
  %7 = zext nneg i8 %4 to i64
  %8 = shl i64 %7, 2
  %9 = call ptr @llvm.load.relative.i64(ptr @switch.table.add_tensor.rel, i64 %8)
  br label %10

10:
  %11 = phi ptr [ %9, %6 ], [ @.str.4, %2 ]
  tail call fastcc void @add(ptr noundef nonnull %0, ptr noundef nonnull %11) #13
  %12 = load i8, ptr %3, align 4
  %13 = icmp eq i8 %12, 6
  br i1 %13, label %18, label %14

14:
  %15 = getelementptr inbounds nuw i8, ptr %1, i64 21
  %16 = load i8, ptr %15, align 1
  %17 = zext i8 %16 to i64
  tail call fastcc void @add_int(ptr noundef nonnull %0, i64 noundef %17) #13
  br label %18

18:
  tail call fastcc void @add(ptr noundef %0, ptr noundef nonnull @.str.8) #13
  %19 = getelementptr inbounds nuw i8, ptr %1, i64 16
  %20 = getelementptr inbounds nuw i8, ptr %1, i64 24
  br label %21

21:
  %22 = phi i64 [ %42, %38 ], [ 0, %18 ]
  %23 = load i32, ptr %19, align 8
  %24 = sext i32 %23 to i64
  %25 = icmp slt i64 %22, %24
  br i1 %25, label %35, label %26

26:
  %27 = icmp eq i32 %23, 1
  %28 = select i1 %27, ptr @.str.10, ptr @.str.11
  tail call fastcc void @add(ptr noundef %0, ptr noundef nonnull %28) #13
  %29 = getelementptr inbounds nuw i8, ptr %1, i64 8
  %30 = load i32, ptr %29, align 8
  %31 = icmp eq i32 %30, 1
  %32 = select i1 %31, ptr @.str.12, ptr @.str.13
  tail call fastcc void @add(ptr noundef %0, ptr noundef nonnull %32) #13
  %33 = load i32, ptr %29, align 8
  %34 = icmp eq i32 %33, 1
  br i1 %34, label %45, label %43

35:
  %36 = icmp eq i64 %22, 0
  br i1 %36, label %38, label %37

37:
  tail call fastcc void @add(ptr noundef %0, ptr noundef nonnull @.str.9) #13
  br label %38

38:
  %39 = load ptr, ptr %20, align 8
  %40 = getelementptr inbounds nuw i64, ptr %39, i64 %22
  %41 = load i64, ptr %40, align 8
  tail call fastcc void @add_int(ptr noundef %0, i64 noundef %41) #13
  %42 = add nuw nsw i64 %22, 1
  br label %21

43:
  %44 = sext i32 %33 to i64
  tail call fastcc void @add_int(ptr noundef %0, i64 noundef %44) #13
  tail call fastcc void @add(ptr noundef %0, ptr noundef nonnull @.str.14) #13
  br label %45

45:
  %46 = getelementptr inbounds nuw i8, ptr %1, i64 12
  %47 = load i32, ptr %46, align 4
  %48 = sext i32 %47 to i64
  tail call fastcc void @add_int(ptr noundef %0, i64 noundef %48) #13
  ret void
}

define internal fastcc i64 @find_in_host(ptr noundef %0) unnamed_addr #0 {
  %2 = tail call fastcc i64 @find(ptr noundef nonnull @.str.24, i32 noundef signext 5, ptr noundef %0) #13
  %3 = icmp eq i64 %2, 0
  br i1 %3, label %4, label %6

4:
  %5 = tail call fastcc i64 @find_anywhere(ptr noundef %0) #13
  br label %6

6:
  %7 = phi i64 [ %5, %4 ], [ %2, %1 ]
  ret i64 %7
}

define internal fastcc i64 @find_anywhere(ptr noundef %0) unnamed_addr #0 {
  %2 = tail call ptr @dlsym(ptr noundef null, ptr noundef %0) #12
  %3 = ptrtoint ptr %2 to i64
  ret i64 %3
}

declare void @llvm.trap() #6

define internal fastcc i64 @find(ptr noundef %0, i32 noundef signext range(i32 2, 6) %1, ptr noundef %2) unnamed_addr #0 {
  %4 = tail call ptr @dlopen(ptr noundef %0, i32 noundef signext %1) #12
  %5 = icmp eq ptr %4, null
  br i1 %5, label %9, label %6

6:
  %7 = tail call ptr @dlsym(ptr noundef nonnull %4, ptr noundef %2) #12
  %8 = ptrtoint ptr %7 to i64
  br label %9

9:
  %10 = phi i64 [ %8, %6 ], [ 0, %3 ]
  ret i64 %10
}

declare ptr @dlopen(ptr noundef, i32 noundef signext) local_unnamed_addr #7

declare ptr @dlsym(ptr noundef, ptr noundef) local_unnamed_addr #7

define internal fastcc i64 @find_in_runtime(ptr noundef %0) unnamed_addr #0 {
  %2 = tail call fastcc i64 @find(ptr noundef nonnull @.str.30, i32 noundef signext 2, ptr noundef %0) #13
  ret i64 %2
}

define internal signext i32 @run_piece(ptr noundef captures(none) %0, i64 noundef %1, i64 noundef %2) #0 {
  %4 = alloca ptr, align 8
  %5 = alloca ptr, align 8
  %6 = alloca %struct.TernEnv, align 8
  call void @llvm.lifetime.start.p0(ptr nonnull %5) #11
  store ptr null, ptr %5, align 8
  call void @llvm.lifetime.start.p0(ptr nonnull %6) #11
  store i32 56, ptr %6, align 8
  %7 = getelementptr inbounds nuw i8, ptr %6, i64 4
  store i32 1, ptr %7, align 4
  %8 = getelementptr inbounds nuw i8, ptr %6, i64 8
  store ptr %5, ptr %8, align 8
  %9 = getelementptr inbounds nuw i8, ptr %6, i64 16
  store ptr @raise_error, ptr %9, align 8
  %10 = getelementptr inbounds nuw i8, ptr %6, i64 24
  store ptr @call_import, ptr %10, align 8
  %11 = getelementptr inbounds nuw i8, ptr %6, i64 32
  store ptr @alloc_workspace, ptr %11, align 8
  %12 = getelementptr inbounds nuw i8, ptr %6, i64 40
  store ptr @free_workspace, ptr %12, align 8
  %13 = getelementptr inbounds nuw i8, ptr %6, i64 48
  store ptr @parallel_for, ptr %13, align 8
  %14 = load ptr, ptr %0, align 8
  %15 = getelementptr inbounds nuw i8, ptr %0, i64 8
  %16 = load ptr, ptr %15, align 8
  %17 = call signext i32 %14(ptr noundef nonnull %6, i64 noundef %1, i64 noundef %2, ptr noundef %16) #12
  br label %18

18:
  %19 = load ptr, ptr %5, align 8
  %20 = icmp eq ptr %19, null
  br i1 %20, label %22, label %21

21:
  call fastcc void @free_block(ptr noundef nonnull %5) #13
  br label %18

22:
  %23 = icmp eq i32 %17, 0
  br i1 %23, label %45, label %24

24:
  %25 = call fastcc i64 @find_in_host(ptr noundef nonnull @.str.37) #13
  %26 = call fastcc i64 @find_in_host(ptr noundef nonnull @.str.35) #13
  %27 = inttoptr i64 %26 to ptr
  call void @llvm.lifetime.start.p0(ptr nonnull %4) #11
  store ptr null, ptr %4, align 8
  %28 = icmp eq i64 %25, 0
  br i1 %28, label %44, label %29

29:
  %30 = inttoptr i64 %25 to ptr
  %31 = call signext i32 %30(ptr noundef nonnull %4) #12
  %32 = load ptr, ptr %4, align 8
  %33 = icmp eq ptr %32, null
  br i1 %33, label %44, label %34

34:
  %35 = getelementptr inbounds nuw i8, ptr %0, i64 16
  %36 = ptrtoint ptr %32 to i64
  %37 = cmpxchg ptr %35, i64 0, i64 %36 acq_rel acquire, align 8
  %38 = extractvalue { i64, i1 } %37, 1
  %39 = icmp eq i64 %26, 0
  %40 = select i1 %38, i1 true, i1 %39
  br i1 %40, label %44, label %41

41:
  %42 = load ptr, ptr %4, align 8
  %43 = call signext i32 %27(ptr noundef %42) #12
  br label %44

44:
  call void @llvm.lifetime.end.p0(ptr nonnull %4) #11
  br label %45

45:
  call void @llvm.lifetime.end.p0(ptr nonnull %6) #11
  call void @llvm.lifetime.end.p0(ptr nonnull %5) #11
  ret i32 %17
}

declare i64 @llvm.smax.i64(i64, i64) #8

declare i64 @llvm.abs.i64(i64, i1 immarg) #9

declare i32 @llvm.smax.i32(i32, i32) #8

declare ptr @llvm.load.relative.i64(ptr, i64) #10

attributes #0 = { minsize nounwind optsize "no-builtins" }
attributes #1 = { mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite) }
attributes #2 = { mustprogress nocallback nofree nounwind willreturn memory(argmem: write) }
attributes #3 = { minsize nofree norecurse nosync nounwind optsize memory(argmem: readwrite) "no-builtins" }
attributes #4 = { minsize nofree norecurse nosync nounwind optsize memory(readwrite, inaccessiblemem: none, target_mem0: none, target_mem1: none) "no-builtins" }
attributes #5 = { minsize nofree norecurse nosync nounwind optsize memory(read, argmem: readwrite, inaccessiblemem: none, target_mem0: none, target_mem1: none) "no-builtins" }
attributes #6 = { cold noreturn nounwind memory(inaccessiblemem: write) }
attributes #7 = { minsize optsize "no-builtins" }
attributes #8 = { nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none) }
attributes #9 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #10 = { nocallback nofree nosync nounwind willreturn memory(argmem: read) }
attributes #11 = { nounwind }
attributes #12 = { minsize nobuiltin nounwind optsize "no-builtins" }
attributes #13 = { minsize nobuiltin optsize "no-builtins" }

